// Specification, "Server API gateway (built-in service)": the gateway of `mx server`.
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { BUILT_IN_SERVICES } from '../../platform/server/built-in/services.ts'
import { metadata } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { createService } from '../fixtures/sdk-services.ts'
import { ADMIN, type OpenServer, openServer } from '../fixtures/server.ts'

t.setTimeout(120_000)

const LISTENERS = ['uws', 'node']

function open(t: Test, listener: string): Promise<OpenServer> {
  return openServer(t, ['--listener', listener])
}

/** Starts a user service that knows only the address of the RPC proxy. */
async function startAgent(t: Test, { proxy }: OpenServer, name = 'agent'): Promise<void> {
  const service = createService(t, { name, proxy, auth: ADMIN })
  service.handle('Agent', {
    whoAsks: endpoint({
      handle(_request, ctx) {
        const [agent, result] = metadata.get(ctx, 'X-Agent')
        if (!result) throw badRequest(name, 'X-Agent is missing')
        const [authorization] = metadata.get(ctx, 'Authorization')
        return { agent, authorization, namespace: ctx.namespace }
      },
    }),
    add: endpoint({
      request: Type.Object({ a: Type.Integer(), b: Type.Object({ c: Type.Integer() }) }),
      response: Type.Object({ sum: Type.Integer() }),
      handle: ({ a, b }) => ({ sum: a + b.c }),
    }),
  })
  await service.start()
}

for (const listener of LISTENERS) {
  t.test(`${listener}: | GET | / | none | JSON object with version (string) |`, async (t) => {
    const { get } = await open(t, listener)
    const { status, body } = await get('/')
    t.equal(status, 200)
    t.match(body, { version: /^\d+\.\d+\.\d+$/ })
  })

  t.test(
    `${listener}: | GET | /<service>/<endpointName> | request fields as query parameters | JSON of the endpoint’s response |`,
    async (t) => {
      const server = await open(t, listener)
      await startAgent(t, server)
      t.strictSame(await server.get('/agent/add?a=1&b.c=2'), { status: 200, body: { sum: 3 } })
      t.strictSame(await server.get('/agent/add?a=1&b[c]=3'), { status: 200, body: { sum: 4 } })
      const { status, body } = await server.get('/registry/getService?service=registry')
      t.equal(status, 200)
      t.match(body, { services: [{ name: 'registry', nodes: [{ address: server.proxy }] }] })
    },
  )

  t.test(
    `${listener}: | POST | /<service>/<endpointName> | JSON object of request fields, Content-Type: application/json | JSON of the endpoint’s response |`,
    async (t) => {
      const server = await open(t, listener)
      await startAgent(t, server)
      const request = { a: 1, b: { c: 2 } }
      t.strictSame(await server.post('/agent/add', request), { status: 200, body: { sum: 3 } })
      const written = await server.post('/store/write', { record: { key: 'a', value: 'Yg==' } })
      t.match(written, { status: 200, body: { version: Number } })
      const { body } = await server.post('/store/read', { key: 'a' })
      t.match(body, { records: [{ key: 'a', value: 'Yg==' }] })
    },
  )

  t.test(
    `${listener}: <endpointName> is lower camel case (for example the registry’s list operation is called as /registry/listServices).`,
    async (t) => {
      const { get } = await open(t, listener)
      const { status, body } = await get('/registry/listServices')
      t.equal(status, 200)
      t.ok(body.services.length > 0)
      t.equal((await get('/registry/listservices')).status, 404)
    },
  )

  t.test(
    `${listener}: Optional request header Mx-Namespace: <namespace> selects the namespace.`,
    async (t) => {
      const server = await open(t, listener)
      const { get, post } = server
      const staging = { 'mx-namespace': 'staging' }
      const record = { key: 'a', value: 'Yg==' }
      t.equal((await post('/store/write', { record }, staging)).status, 200)
      t.match(await get('/store/read?key=a', staging), { status: 200, body: { records: [record] } })
      t.match(await get('/store/tables', staging), { body: { tables: ['mx'] } })
      t.equal((await get('/store/read?key=a')).status, 404, 'not in the default namespace')
      t.match(await get('/store/tables'), { body: { tables: [] } })
      t.equal((await get('/store/read?key=a&options.database=staging')).status, 200)
      t.equal((await post('/config/set', { path: 'a', value: { data: '1' } }, staging)).status, 200)
      t.match(await get('/config/get?path=a', staging), { body: { value: { data: '1' } } })
      t.not((await get('/config/get?path=a')).body.value?.data, '1', 'not in other namespaces')

      await startAgent(t, server)
      t.match(await get('/agent/whoAsks', { 'x-agent': 'a', ...staging }), {
        body: { namespace: 'staging' },
      })
      const registration = { name: 'agent', nodes: [{ id: 'a', address: '127.0.0.1:1' }] }
      await post('/registry/register', { ...registration, options: { domain: 'staging' } })
      t.equal(
        (await get('/agent/whoAsks', { 'x-agent': 'a', ...staging })).status,
        502,
        'a service of the namespace takes precedence over the default namespace',
      )
      t.equal((await get('/agent/whoAsks', { 'x-agent': 'a' })).status, 200)
    },
  )

  t.test(
    `${listener}: Every running service is callable through this gateway unless denied by auth rules.`,
    async (t) => {
      const server = await open(t, listener)
      const names = BUILT_IN_SERVICES.map(({ name }) => name)
      t.same(server.server.services, names)
      for (const name of ['shop', 'a-b', 'v1.shop']) await startAgent(t, server, name)
      for (const path of [...names, 'shop', 'a-b'])
        t.match(await server.get(`/${path}/debug/health`), { status: 200, body: { status: 'ok' } })
      t.match(await server.get('/v1/shop/debug/health'), { status: 200, body: { status: 'ok' } })
      const call = { service: 'store', method: 'Store.Databases', request: {} }
      t.match(await server.post('/rpc', call), { status: 200, body: { databases: [] } })
      t.match(await server.get('/unknown/call'), {
        status: 404,
        body: {
          Id: 'unknown',
          Code: 404,
          Detail: 'service not found: unknown',
          Status: 'Not Found',
        },
      })
    },
  )

  t.test(
    `${listener}: Request headers sent to the gateway are put into the call context of the backend handler (a header <Name> is read by the backend under the same name).`,
    async (t) => {
      const server = await open(t, listener)
      await startAgent(t, server)
      const authorization = `Bearer ${server.token}`
      const headers = { 'X-Agent': 'smith', Authorization: authorization }
      const expected = { status: 200, body: { agent: 'smith', authorization } }
      t.match(await server.get('/agent/whoAsks', headers), expected)
      t.match(await server.post('/agent/whoAsks', {}, headers), expected)
    },
  )

  t.test(
    `${listener}: A missing header that a backend requires is reported by the backend as an error it chooses.`,
    async (t) => {
      const server = await open(t, listener)
      await startAgent(t, server)
      t.strictSame(await server.get('/agent/whoAsks'), {
        status: 400,
        body: { Id: 'agent', Code: 400, Detail: 'X-Agent is missing', Status: 'Bad Request' },
      })
    },
  )
}
