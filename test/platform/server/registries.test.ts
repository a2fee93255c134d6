import t, { type Test } from 'tap'
import { Type } from '../../../core/schema.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createConfiguredRegistry } from '../../../platform/server/registries.ts'
import { Uint64 } from '../../../sdk/schema/schema-types.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import type { Service } from '../../../sdk/service/service.ts'
import { openApi } from '../../fixtures/api.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { startMx } from '../../fixtures/mx.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { createService } from '../../fixtures/sdk-services.ts'
import { openServer } from '../../fixtures/server.ts'
import { makeService } from '../../fixtures/services.ts'

const NAME = 'go.mx.api.parcels'

/** A service that returns its request. */
async function startParcels(t: Test, registry: string): Promise<Service> {
  const service = createService(t, { name: NAME, registry })
  service.handle('Parcels', {
    find: endpoint({
      request: Type.Object({ code: Type.String(), count: Type.Integer(), id: Uint64() }),
      response: Type.Object({ seen: Type.String() }),
      handle: ({ code, count, id }) => ({
        seen: [typeof code, code, typeof count, String(id)].join(' '),
      }),
    }),
    track: endpoint({
      request: Type.Object({ code: Type.String() }),
      http: { method: 'GET', path: '/track/{code}' },
      handle: ({ code }) => ({ code }),
    }),
  })
  await service.start()
  return service
}

async function open(t: Test) {
  const { address } = await openPlatformRegistry(t)
  const text = `mx://${address}`
  const { port } = await openApi(t, { MX_REGISTRY: text })
  return { text, origin: `http://127.0.0.1:${port}` }
}

t.test('coerces numbers to strings by the schemas in the registry', async (t) => {
  const { text, origin } = await open(t)
  await startParcels(t, text)
  const reply = await fetch(`${origin}/parcels/find?code=0042&count=7&id=18446744073709551615`)
  t.same(await reply.json(), { seen: 'string 0042 number 18446744073709551615' })
})

t.test('serves declared routes as soon as they are registered', async (t) => {
  const { text, origin } = await open(t)
  const status = async () => (await fetch(`${origin}/track/0042`)).status
  t.equal(await status(), 404)
  const service = await startParcels(t, text)
  await eventually(async () => (await status()) === 200)
  t.same(await (await fetch(`${origin}/track/0042`)).json(), { code: '0042' })
  await service.stop()
  await eventually(async () => (await status()) === 404)
})

t.test('configured services override registered ones until a reload removes them', async (t) => {
  const { address } = await openPlatformRegistry(t)
  const text = `mx://${address}`
  const toHandler = (name: string) => ({ who: endpoint({ handle: async () => ({ name }) }) })
  const registered = createService(t, { name: NAME, registry: text }).handle(
    'Parcels',
    toHandler('registered'),
  )
  const configured = createService(t, { name: NAME }).handle('Parcels', toHandler('configured'))
  await registered.start()
  const variables = { MX_REGISTRY: text, MX_ADDRESS: '127.0.0.1:0', MX_LOG_LEVEL: 'silent' }
  const api = await openApi(t, {
    ...variables,
    MX_BACKEND: `parcels=mx://${await configured.start()}`,
  })
  const sendRequest = async (): Promise<{ name?: string }> => {
    const reply = await fetch(`http://127.0.0.1:${api.port}/parcels/who`)
    return (await reply.json()) as { name?: string }
  }
  t.same(await sendRequest(), { name: 'configured' })
  await api.reload(await configurationFrom(new Map(), variables)())
  await eventually(async () => (await sendRequest()).name === 'registered')
  t.same(await sendRequest(), { name: 'registered' })
})

t.test(
  'a gateway starts without its registry and connects when it becomes available',
  async (t) => {
    const stopped = await openPlatformRegistry(t)
    await stopped.close()
    const { port } = await openApi(t, { MX_REGISTRY: `mx://${stopped.address}` })
    const status = async () =>
      (await fetch(`http://127.0.0.1:${port}/parcels/find?code=1&count=1&id=1`)).status
    t.equal(await status(), 503)
    await openPlatformRegistry(t, { address: stopped.address })
    await startParcels(t, `mx://${stopped.address}`)
    await eventually(async () => (await status()) === 200)
    t.equal(await status(), 200)
  },
)

t.test('a gateway stays ready during an outage of a registry that responded once', async (t) => {
  const { address, close } = await openPlatformRegistry(t)
  const one = await openApi(t, { MX_REGISTRY: `mx://${address}` })
  t.equal((await fetch(`http://127.0.0.1:${one.port}/parcels/find`)).status, 404)
  await close()
  t.same(await one.problems(), [])
  const other = await openApi(t, { MX_REGISTRY: `mx://${address}` })
  t.same(await other.problems(), ['the registry has not responded yet'])
})

t.test(
  'reports denied access to the registry to clients and at /readyz, without details',
  async (t) => {
    const { proxy, post } = await openServer(t)
    const { body } = await post('/auth/token', { id: 'admin', secret: 'mx' })
    const headers = { authorization: `Bearer ${body.token.access_token}` }
    const rule = (id: string, scope: string, name: string) => {
      const resource = { type: '*', name, endpoint: '*' }
      return post(
        '/auth/rules/create',
        { rule: { id, scope, access: 'GRANTED', resource, priority: 0 } },
        headers,
      )
    }
    t.equal((await rule('login', '', 'auth')).status, 200)
    t.equal((await rule('members', '*', '*')).status, 200)
    t.equal((await post('/auth/rules/delete', { id: 'default' }, headers)).status, 200)
    for (const variables of [
      { MX_AUTH_ID: 'admin', MX_AUTH_SECRET: 'wrong' },
      { MX_AUTH_ID: 'unknown', MX_AUTH_SECRET: 'mx' },
    ]) {
      const gateway = await openApi(t, {
        MX_REGISTRY: `mx://${proxy}`,
        MX_LOG_LEVEL: 'silent',
        ...variables,
      })
      const sendRequest = async (): Promise<object> => {
        const reply = await fetch(`http://127.0.0.1:${gateway.port}/parcels/find`)
        return (await reply.json()) as object
      }
      const denied = 'the registry denies access'
      // On a busy machine, the first response may be late.
      await eventually(async () => (await gateway.problems())[0] === `${denied}; see the log`)
      t.match(await sendRequest(), {
        Code: 503,
        Detail: `cannot look up ${NAME}: the registry denies access`,
      })
    }
  },
)

t.test(
  'the registry memory finds services of the process in addition to the configured ones',
  async (t) => {
    const service = createService(t, { name: NAME, registry: 'memory' }).handle('Parcels', {
      who: endpoint({ handle: async () => ({ name: 'registered' }) }),
    })
    await service.start()
    const configured = makeService('go.mx.api.greeter', ['127.0.0.1:9001'])
    const { registry, replace } = createConfiguredRegistry('memory', [configured])
    t.teardown(() => registry.close?.())
    t.same(await registry.getService('go.mx.api.greeter'), [configured])
    t.match(await registry.getService(NAME), [{ nodes: [{ metadata: { protocol: 'mx' } }] }])
    const events: string[] = []
    registry.watch?.(({ type, service: { name } }) => events.push(`${type} ${name}`))
    replace([structuredClone(configured)])
    t.same(events, [], 'a reload without changes emits no event')
    replace([])
    t.same(events, ['delete go.mx.api.greeter'])
  },
)

const unusable: [text: string, reason: RegExp][] = [
  ['consuls://127.0.0.1:9?ca=/nonexistent/ca.pem', /^mx: cannot read the ca file .*ENOENT.*\n$/],
  ['kubernetes', /^mx: cannot read the kubeconfig \/nonexistent\/config: ENOENT.*\n$/],
]
for (const [text, reason] of unusable) {
  t.test(`fails to start with a permanently invalid registry: ${text}`, async (t) => {
    const env = { KUBECONFIG: '/nonexistent/config', KUBERNETES_SERVICE_HOST: '' }
    const args = ['api', '--address=127.0.0.1:0', `--registry=${text}`]
    const mx = startMx(args, { cwd: t.testdir(), env })
    t.teardown(() => mx.child.kill('SIGKILL'))
    t.equal(await mx.ended, 1)
    t.match(mx.output.stderr, reason)
  })
}

t.test('logs an outage at startup as one line with the reason', async (t) => {
  const stopped = await openPlatformRegistry(t)
  await stopped.close()
  const args = ['api', '--address=127.0.0.1:0', `--registry=mx://${stopped.address}`]
  const mx = startMx(args, { cwd: t.testdir() })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  await mx.url()
  const events = mx.output.stderr.split('\n').filter((line) => line.includes('ECONNREFUSED'))
  t.equal(events.length, 1)
  t.match(events[0], /"msg":"registry unavailable/)
})
