import t from 'tap'
import type { Registry } from '../../../../core/contracts/registry.ts'
import { createOwnerChanges, withOwner } from '../../../../services/registry/nodes/node-owner.ts'
import { openAuthServer } from '../../../fixtures/auth-endpoints.ts'
import { toRegistration } from '../../../fixtures/platform-registry.ts'
import { openRegistry } from '../../../fixtures/sdk-services.ts'
import { makeService } from '../../../fixtures/services.ts'

t.setTimeout(60_000)

t.test(
  'a name belongs to the account that registered its nodes until they are deregistered',
  async (t) => {
    const { sendRequest, transports, admin, logIn } = await openAuthServer(t, [
      '--register_allow=loopback',
    ])
    const scopes: Readonly<Record<string, string>> = {
      ...{ first: 'service', second: 'service', shop: 'workload:mx/shop' },
    }
    const tokens: Record<string, string> = { admin }
    for (const [id, scope] of Object.entries(scopes)) {
      const secret = 'a long secret'
      await sendRequest('Auth.Generate', { id, type: 'service', scopes: [scope], secret })
      tokens[id] = await logIn(id, secret)
    }
    const send = async (owner: string, method: string, name: string, port: number) => {
      const metadata = { 'mx-owner': 'somebody else' }
      const address = `127.0.0.1:${port}`
      const request = toRegistration(name, [], { nodes: [{ id: address, address, metadata }] })
      const { code, body } = await transports.gateway(
        'registry',
        `Registry.${method}`,
        request,
        tokens[owner],
      )
      return code === 200 ? code : `${code} ${body.Detail}`
    }
    const register = (owner: string, name: string, port: number) =>
      send(owner, 'Register', name, port)
    const deregister = (owner: string, name: string, port: number) =>
      send(owner, 'Deregister', name, port)

    t.equal(await register('first', 'greeter', 9001), 200)
    t.equal(await register('first', 'greeter', 9002), 200, 'another node')
    const conflict = /^409 the service greeter of namespace mx is registered by another account/
    t.match(await register('second', 'greeter', 9003), conflict)
    t.match(
      await register('second', 'greeter', 9001),
      conflict,
      'with the address of an existing node',
    )
    t.match(await deregister('second', 'greeter', 9001), conflict)
    t.match(await register('shop', 'greeter', 9003), /^401 .*workload:mx\/greeter/)
    t.equal(await register('admin', 'greeter', 9009), 200, 'an operator takes over the name')
    t.equal(await register('first', 'greeter', 9001), 200, 'a heartbeat of an existing node')
    t.match(await register('first', 'greeter', 9004), conflict, 'a new node is rejected')
    t.equal(await deregister('first', 'greeter', 9001), 200)
    t.equal(await deregister('first', 'greeter', 9002), 200)
    t.equal(await deregister('admin', 'greeter', 9009), 200)
    t.equal(await register('second', 'greeter', 9003), 200, 'the name is available')

    t.equal(await register('first', 'shop', 9001), 200)
    t.equal(await register('shop', 'shop', 9005), 200, 'the workload owns its name')
    t.match(await register('second', 'shop', 9006), /^409 /)
    t.equal(await deregister('shop', 'shop', 9001), 200)
  },
)

t.test('only one of several accounts that register a name concurrently succeeds', async (t) => {
  const memory = openRegistry(t)
  // As with a remote registry, all accounts read before one has registered.
  const registry: Registry = {
    ...memory,
    async getService(name) {
      const result = await memory.getService(name)
      await new Promise((resolve) => setImmediate(resolve))
      return result
    },
  }
  const changeAsOwner = createOwnerChanges()
  const take = (id: string, signal = new AbortController().signal) => {
    const account = {
      id,
      name: id,
      issuer: 'mx',
      type: 'service',
      metadata: {},
      scopes: ['service'],
    }
    const service = withOwner(makeService('greeter', ['127.0.0.1:9001']), account)
    const scope = { registry, namespace: 'mx' }
    return changeAsOwner(service, scope, { account, signal }, 'registry', async () => {
      await memory.register!(service)
    })
  }
  const outcomes = await Promise.allSettled(['first', 'second', 'third'].map((id) => take(id)))
  const [first, ...others] = outcomes
  t.match(first, { status: 'fulfilled' })
  for (const outcome of others) t.match(outcome, { status: 'rejected', reason: { code: 409 } })
  await take('first')
  await memory.deregister!(makeService('greeter', ['127.0.0.1:9001']))
  const aborted = AbortSignal.abort(new Error('too late'))
  await t.rejects(take('second', aborted), { message: 'too late' })
  await take('second')
})
