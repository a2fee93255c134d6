// A platform that requires an account for every call. Services, clients and gateways connect to it through its
// registry.
import t, { type Test } from 'tap'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { openApi } from '../fixtures/api.ts'
import { eventually } from '../fixtures/eventually.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'
import { ADMIN, openServer } from '../fixtures/server.ts'

/** A platform whose rules allow every account, and the URL of its registry. */
async function openClosed(t: Test) {
  const server = await openServer(t)
  const grant = (id: string, scope: string, resource: object) =>
    server.post('/auth/rules/create', { rule: { id, scope, access: 'GRANTED', resource } })
  const login = await grant('login', '', { type: 'service', name: 'auth', endpoint: '*' })
  const members = await grant('members', '*', { type: '*', name: '*', endpoint: '*' })
  const deleted = await server.post('/auth/rules/delete', { id: 'default' })
  t.same([login.status, members.status, deleted.status], [200, 200, 200])
  const isClosed = async () =>
    (await server.get('/registry/listServices', { authorization: '' })).status
  await eventually(async () => (await isClosed()) === 401)
  return { server, registry: `mx://${server.proxy}` }
}

/** A service with an account. */
function createGreeter(t: Test, registry: string, auth = ADMIN) {
  return createService(t, { name: 'go.mx.api.greeter', registry, auth }).handle('Greeter', {
    hello: endpoint({ handle: () => 'hello' }),
  })
}

t.test('a service registers and calls others with its account', async (t) => {
  const { server, registry } = await openClosed(t)
  const greeter = createGreeter(t, registry)
  await greeter.start()
  const sendRequest = async () => (await server.get('/go.mx.api.greeter/greeter/hello')).status
  await eventually(async () => (await sendRequest()) === 200)
  const other = createService(t, { name: 'other', registry, auth: ADMIN })
  await other.start()
  const { status } = await other.client.call<{ status: string }>(
    'go.mx.api.greeter',
    'Debug.Health',
  )
  t.equal(status, 'ok')
})

t.test('a client authenticates to look up services in the registry', async (t) => {
  const { registry } = await openClosed(t)
  await createGreeter(t, registry).start()
  const client = openClient(t, { registry, auth: ADMIN })
  t.equal(await client.call('go.mx.api.greeter', 'Greeter.Hello'), 'hello')
  const invalid = openClient(t, { registry, auth: { ...ADMIN, secret: 'wrong' } })
  await t.rejects(invalid.call('go.mx.api.greeter', 'Greeter.Hello'), { code: 400 })
})

t.test('a gateway authenticates to its registry', async (t) => {
  const { server, registry } = await openClosed(t)
  await createGreeter(t, registry).start()
  const sendRequest = async (variables: Readonly<Record<string, string>>) => {
    const { port } = await openApi(t, {
      // A connection of this process would be shared with other tests.
      MX_REGISTRY: registry.replace('127.0.0.1', 'localhost'),
      MX_ACCESS_LOG: 'off',
      MX_LOG_LEVEL: 'silent',
      ...variables,
    })
    const headers = { authorization: `Bearer ${server.token}` }
    const reply = await fetch(`http://127.0.0.1:${port}/greeter/hello`, { headers })
    return [reply.status, await reply.text()]
  }
  t.match(await sendRequest({}), [503], 'a gateway without an account is rejected')
  const account = { MX_AUTH_ID: ADMIN.id, MX_AUTH_SECRET: ADMIN.secret }
  t.same(await sendRequest(account), [200, '"hello"'])
})
