// Specification, "Server API gateway (built-in service)".
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { metadata } from '../../sdk/context.ts'
import { type Endpoints, endpoint } from '../../sdk/endpoint.ts'
import { badRequest } from '../../sdk/errors.ts'
import { openApi } from '../fixtures/api.ts'
import { openMxService } from '../fixtures/mx-service.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** A service with the shapes that the specification shows. */
const registry: Record<string, Endpoints> = {
  Registry: {
    getService: endpoint({
      request: Type.Object({
        service: Type.String(),
        options: Type.Optional(
          Type.Object({ ttl: Type.Optional(Type.Integer()), domain: Type.Optional(Type.String()) }),
        ),
      }),
      handle: ({ service, options }) => ({ services: [{ name: service, options }] }),
    }),
    listServices: endpoint({ handle: () => ({ services: [] }) }),
    whoAsks: endpoint({
      handle(_request, ctx) {
        const [agent, found] = metadata.get(ctx, 'X-Agent')
        if (!found) throw badRequest('registry', 'X-Agent is missing')
        return {
          agent,
          namespace: ctx.namespace,
          authorization: metadata.get(ctx, 'Authorization')[0],
        }
      },
    }),
  },
}

/** As in server mode: no namespace before names. */
async function open(t: Test, MX_LISTENER: string): Promise<string> {
  const { backend } = await openMxService(t, registry, { name: 'registry' })
  const env = { MX_ACCESS_LOG: 'off', MX_NAMESPACE: ' ', MX_BACKEND: backend, MX_LISTENER }
  return `http://127.0.0.1:${(await openApi(t, env)).port}`
}

for (const listener of ['uws', 'node']) {
  t.test(`${listener}: | GET | / | none | JSON object with version (string) |`, async (t) => {
    const reply = await fetch(await open(t, listener))
    t.equal(reply.status, 200)
    t.match(await reply.json(), { version: /^\d+\.\d+\.\d+$/ })
  })

  t.test(
    `${listener}: | GET | /<service>/<endpointName> | request fields as query parameters | JSON of the endpoint’s response |`,
    async (t) => {
      const origin = await open(t, listener)
      const reply = await fetch(
        `${origin}/registry/getService?service=auth&options.ttl=5&options[domain]=mx`,
      )
      t.strictSame([reply.status, reply.headers.get('content-type')], [200, 'application/json'])
      t.strictSame(await reply.json(), {
        services: [{ name: 'auth', options: { ttl: 5, domain: 'mx' } }],
      })
    },
  )

  t.test(
    `${listener}: | POST | /<service>/<endpointName> | JSON object of request fields, Content-Type: application/json | JSON of the endpoint’s response |`,
    async (t) => {
      const origin = await open(t, listener)
      const reply = await fetch(`${origin}/registry/getService`, {
        method: 'POST',
        headers: JSON_TYPE,
        body: '{"service":"auth","options":{"ttl":5}}',
      })
      t.strictSame([reply.status, reply.headers.get('content-type')], [200, 'application/json'])
      t.strictSame(await reply.json(), { services: [{ name: 'auth', options: { ttl: 5 } }] })
    },
  )

  t.test(
    `${listener}: <endpointName> is lower camel case (for example the registry’s list operation is called as /registry/listServices).`,
    async (t) => {
      const origin = await open(t, listener)
      t.strictSame(await (await fetch(`${origin}/registry/listServices`)).json(), { services: [] })
      t.equal((await fetch(`${origin}/registry/listservices`)).status, 404)
    },
  )

  t.test(
    `${listener}: Optional request header Mx-Namespace: <namespace> selects the namespace.`,
    async (t) => {
      const origin = await open(t, listener)
      const headers = { 'x-agent': 'a', 'mx-namespace': 'staging' }
      t.match(await (await fetch(`${origin}/registry/whoAsks`, { headers })).json(), {
        namespace: 'staging',
      })
      const none = await fetch(`${origin}/registry/whoAsks`, { headers: { 'x-agent': 'a' } })
      t.match(await none.json(), { namespace: '' })
    },
  )

  t.test(
    `${listener}: Request headers sent to the gateway are put into the call context of the backend handler (a header <Name> is read by the backend under the same name).`,
    async (t) => {
      const origin = await open(t, listener)
      const headers = { 'X-Agent': 'smith', Authorization: 'Bearer token' }
      for (const method of ['GET', 'POST']) {
        const reply = await fetch(`${origin}/registry/whoAsks`, { method, headers })
        t.match(await reply.json(), { agent: 'smith', authorization: 'Bearer token' })
      }
    },
  )

  t.test(
    `${listener}: A missing header that a backend requires is reported by the backend as an error it chooses.`,
    async (t) => {
      const origin = await open(t, listener)
      const reply = await fetch(`${origin}/registry/whoAsks`)
      t.equal(reply.status, 400)
      t.strictSame(await reply.json(), {
        Id: 'registry',
        Code: 400,
        Detail: 'X-Agent is missing',
        Status: 'Bad Request',
      })
    },
  )

  t.test(`${listener}: Every running service is callable through this gateway`, async (t) => {
    const names = ['greeter', 'shop', 'a-b', 'v1.shop']
    const backends: string[] = []
    for (const name of names) {
      const { backend } = await openMxService(t, registry, { name })
      backends.push(backend)
    }
    const env = {
      MX_ACCESS_LOG: 'off',
      MX_NAMESPACE: ' ',
      MX_BACKEND: backends.join(' '),
      MX_LISTENER: listener,
    }
    const { port } = await openApi(t, env)
    for (const path of [
      '/greeter/registry/listServices',
      '/shop/registry/listServices',
      '/a-b/registry/listServices',
      '/v1/shop/registry/listServices',
    ]) {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`)
      t.strictSame([reply.status, await reply.json()], [200, { services: [] }], path)
    }
  })
}
