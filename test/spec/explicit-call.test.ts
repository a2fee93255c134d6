// Specification, "Gateway, handler-based mode": Explicit call: /rpc; reference 1.9 and 15.3.
import t, { type Test } from 'tap'
import { openApi } from '../fixtures/api.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { type MxServiceOptions, openMxService } from '../fixtures/mx-service.ts'
import { openRawBackend } from '../fixtures/raw-backend.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
/** A name outside the gateway's namespace. */
const SERVICE = 'backend.greeter'

async function open(t: Test, env: Record<string, string>, options: MxServiceOptions = {}) {
  const service = await openMxService(t, createGreeter(), { name: SERVICE, ...options })
  const { port } = await openApi(t, { MX_ACCESS_LOG: 'off', MX_BACKEND: service.backend, ...env })
  return { url: `http://127.0.0.1:${port}/rpc`, service }
}

function sendJson(url: string, fields: Record<string, unknown>): Promise<Response> {
  return fetch(url, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(fields) })
}

function sendForm(url: string, fields: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', headers: FORM_TYPE, body: new URLSearchParams(fields) })
}

const CALL = { service: SERVICE, method: 'Greeter.Hello', request: { name: 'John' } }
const FORM = { ...CALL, request: JSON.stringify(CALL.request) }

for (const MX_LISTENER of ['uws', 'node']) {
  for (const MX_HANDLER of ['meta', 'proxy']) {
    t.test(
      `${MX_LISTENER}, ${MX_HANDLER}: Bypasses the handlers. Sent as form fields or as a JSON body with Content-Type: application/json.`,
      async (t) => {
        const { url } = await open(t, { MX_LISTENER, MX_HANDLER })
        t.strictSame(await (await sendJson(url, CALL)).json(), { message: 'Hello John' })
        t.strictSame(await (await sendForm(url, FORM)).json(), { message: 'Hello John' })
      },
    )
  }

  t.test(`${MX_LISTENER}: Response: the backend’s response as JSON.`, async (t) => {
    const { url } = await open(t, { MX_LISTENER })
    for (const reply of [await sendJson(url, CALL), await sendForm(url, FORM)]) {
      t.strictSame([reply.status, reply.headers.get('content-type')], [200, 'application/json'])
      t.strictSame(await reply.json(), { message: 'Hello John' })
    }
    const failed = await sendJson(url, { ...CALL, method: 'Greeter.Fail', request: { code: 409 } })
    t.equal(failed.status, 409)
    t.strictSame(await failed.json(), {
      Id: 'greeter.own',
      Code: 409,
      Detail: 'as requested',
      Status: 'Conflict',
    })
  })
}

/** Sends the call as form and JSON with one field omitted or changed. */
async function tryBoth(url: string, field: string, value: string | undefined): Promise<Response[]> {
  const json = { ...CALL, [field]: value }
  const form = { ...FORM, [field]: value }
  const sentFields = Object.entries(form).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return [await sendJson(url, json), await sendForm(url, Object.fromEntries(sentFields))]
}

t.test(
  '| service | string | yes | full service name (for example in a backend namespace) |',
  async (t) => {
    const { url } = await open(t, {})
    for (const reply of await tryBoth(url, 'service', SERVICE)) t.equal(reply.status, 200)
    for (const value of [undefined, '', 'no name']) {
      for (const reply of await tryBoth(url, 'service', value)) {
        t.equal(reply.status, 400, value ?? 'none')
        t.match(await reply.json(), { Id: 'go.mx.rpc', Code: 400, Detail: /service/ })
      }
    }
    for (const reply of await tryBoth(url, 'service', 'greeter')) {
      t.equal(reply.status, 404, 'the name is absolute')
      t.match(await reply.json(), { Code: 404, Detail: 'service not found: greeter' })
    }
  },
)

t.test('| method | string | yes | <Handler>.<Method> |', async (t) => {
  const { url } = await open(t, {})
  for (const reply of await tryBoth(url, 'method', 'Greeter.Hello')) t.equal(reply.status, 200)
  for (const value of [undefined, '', 'Hello', 'Greeter/Hello']) {
    for (const reply of await tryBoth(url, 'method', value)) {
      t.equal(reply.status, 400, value ?? 'none')
      t.match(await reply.json(), {
        Id: 'go.mx.rpc',
        Code: 400,
        Detail: /method must be <Handler>\.<Method>/,
      })
    }
  }
  for (const reply of await tryBoth(url, 'method', 'Greeter.None')) t.equal(reply.status, 404)
})

t.test(
  '| request | JSON object (as a string when sent as a form field; as an object in a JSON body) | yes | request body for the backend |',
  async (t) => {
    const { url, service } = await open(t, {})
    await sendJson(url, { ...CALL, method: 'Greeter.Echo', request: { a: [1, { b: 'c' }] } })
    await sendForm(url, { ...FORM, method: 'Greeter.Echo', request: '{"a":[1,{"b":"c"}]}' })
    t.strictSame(
      service.calls.map(({ body }) => body),
      ['{"a":[1,{"b":"c"}]}', '{"a":[1,{"b":"c"}]}'],
    )
    for (const value of [undefined, '[1]', '5', '{"a":']) {
      for (const reply of await tryBoth(url, 'request', value)) {
        t.equal(reply.status, 400, value ?? 'none')
        t.match(await reply.json(), { Id: 'go.mx.rpc', Code: 400, Detail: /request/ })
      }
    }
    t.equal(service.calls.length, 2)
  },
)

t.test('| address | string | no | host address to target directly |', async (t) => {
  const { url, service } = await open(t, {})
  const other = await openMxService(t, createGreeter(), { name: SERVICE })
  for (const reply of await tryBoth(url, 'address', `127.0.0.1:${other.port}`)) {
    t.equal(reply.status, 200)
    t.strictSame(await reply.json(), { message: 'Hello John' })
  }
  t.strictSame([service.calls.length, other.calls.length], [0, 2])
})

t.test(
  'address may name a registered node of that service; any other address only inside the allow-list; otherwise 403, and no connection is made.',
  async (t) => {
    const { url, service } = await open(t, { MX_RPC_ADDRESS_ALLOW: '192.0.2.0/24' })
    const stranger = await openRawBackend(t)
    for (const reply of await tryBoth(url, 'address', `127.0.0.1:${service.port}`))
      t.equal(reply.status, 200)
    for (const address of [`127.0.0.1:${stranger.port}`, `localhost:${stranger.port}`]) {
      for (const reply of await tryBoth(url, 'address', address)) {
        t.equal(reply.status, 403)
        t.match(await reply.json(), {
          Id: 'go.mx.rpc',
          Code: 403,
          Status: 'Forbidden',
          Detail: /is not a node of backend\.greeter/,
        })
      }
    }
    t.same(stranger.connections, [])
  },
)

t.test('the header Timeout: <seconds> sets the deadline of the call', async (t) => {
  const { url } = await open(t, {})
  const body = JSON.stringify({ ...CALL, method: 'Greeter.Wait' })
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...JSON_TYPE, timeout: '0.1' },
    body,
  })
  t.equal(reply.status, 408)
})
