import t from 'tap'
import { HeaderList } from '../../../core/http/headers.ts'
import { createPlugin } from '../../../core/plugin/define.ts'
import plugin from '../../../plugins/http/json.ts'
import {
  buildPlugin,
  createTestEnv,
  runPlugin,
  type TestHeaders,
  type TestReply,
} from '../../../sdk/testing.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const removeA = buildPlugin(plugin, { request: { remove: ['a'] } })
const removeReply = buildPlugin(plugin, { reply: { remove: ['a'] } })

/** Returns the status, and the body and length that the backend receives. */
async function send(
  body: string | Uint8Array,
  headers: TestHeaders = JSON_TYPE,
  built = removeA,
): Promise<[number, string, number]> {
  let received = ''
  let length = -2
  const { status } = await runPlugin(
    built,
    { method: 'POST', body, headers },
    {
      handle: async (x) => {
        x.proxied = true
        length = x.bodyLength
        received = (await x.readBody()).toString('latin1')
        x.reply(204)
      },
    },
  )
  return [status, received, length]
}

/** Returns the body for the client. */
async function receive(reply: TestReply): Promise<string> {
  return (await runPlugin(removeReply, {}, { reply })).body
}

t.test('changes the fields of a JSON request', async (t) => {
  const built = buildPlugin(plugin, {
    request: {
      remove: ['user.password'],
      rename: { 'user.mail': 'email' },
      set: { source: 'gateway' },
      add: { page: 1 },
    },
  })
  const body = '{"user":{"password":"x","mail":"a@b"},"page":2,"id":9007199254740993}'
  t.strictSame(await send(body, JSON_TYPE, built), [
    204,
    '{"user":{"email":"a@b"},"page":2,"id":9007199254740993,"source":"gateway"}',
    74,
  ])
})

t.test('changes bodies with a JSON type only', async (t) => {
  const body = '{"a":1}'
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/problem+json',
    'text/json',
  ])
    t.equal((await send(body, { 'content-type': type }))[1], '{}', type)
  for (const type of [
    'application/json; charset=utf-16',
    'application/json-seq',
    'application/x-ndjson',
    'application/stream+json',
    'application/grpc+json',
    'application/connect+json',
    'text/plain',
    'json',
  ])
    t.equal((await send(body, { 'content-type': type }))[1], body, type)
  t.equal((await send(body, {}))[1], '{}', 'a call without a content type')
  t.equal((await send(body, { ...JSON_TYPE, 'content-encoding': 'gzip' }))[1], body)
  t.equal((await send(body, { ...JSON_TYPE, 'content-encoding': 'identity' }))[1], '{}')
})

t.test('responds with 400 to a request that is not JSON', async (t) => {
  for (const [body, detail] of [
    [
      '{"a":1,}',
      'request body must be JSON: expected a name in double quotes at position 7, got \\"}\\"',
    ],
    [Uint8Array.of(0x22, 0xff, 0x22), 'request body must be UTF-8 text'],
  ] as const) {
    const result = await runPlugin(removeA, { method: 'POST', body, headers: JSON_TYPE })
    t.equal(result.status, 400)
    t.equal(result.forwarded, false)
    t.match(result.body, detail)
  }
})

t.test('responds with 413 to a request beyond the limit', async (t) => {
  const built = buildPlugin(plugin, { request: { remove: ['a'] }, limit: 8 })
  t.equal((await send('{"a":12}', JSON_TYPE, built))[1], '{}')
  for (const chunked of [false, true]) {
    const body = '{"a":123}'
    const result = await runPlugin(built, { method: 'POST', body, chunked, headers: JSON_TYPE })
    t.equal(result.status, 413)
    t.match(result.body, /request body exceeds the limit of 8 bytes/)
  }
  t.equal((await send('not json, not limited', { 'content-type': 'text/plain' }, built))[0], 204)
})

t.test('passes requests without a body', async (t) => {
  t.equal((await runPlugin(removeA, { headers: JSON_TYPE })).status, 200)
  const empty = { method: 'POST', body: '', chunked: true, headers: JSON_TYPE }
  t.equal((await runPlugin(removeA, empty)).status, 200)
})

t.test('changes the request of a call through /rpc, within the limit', async (t) => {
  const run = async (request: string | undefined, limit?: number) => {
    const built = buildPlugin(plugin, { request: { remove: ['a'] }, ...(limit && { limit }) })
    const target = { request, node: undefined, isUnlisted: false }
    const call = {
      name: 'call',
      onRequest: (x: { explicitTarget: unknown }) => {
        x.explicitTarget = target
      },
    }
    return runPlugin([call, built], { method: 'POST', body: 'a=1', headers: JSON_TYPE })
  }
  t.equal((await run('{"a":1,"b":2}')).x.explicitTarget?.request, '{"b":2}')
  t.equal((await run(undefined)).status, 200, 'the handler processes a missing request')
  t.equal((await run('{"a":12}', 7)).status, 413)
})

t.test('changes the fields of a JSON response', async (t) => {
  const { body, headers } = await runPlugin(
    removeReply,
    {},
    { reply: { headers: { ...JSON_TYPE, etag: '"1"' }, body: '{"a":1,"b":1.0}' } },
  )
  t.equal(body, '{"b":1.0}')
  t.equal(headers.get('etag'), 'W/"1"')
  t.equal(await receive({ status: 404, headers: JSON_TYPE, body: '{"a":1}' }), '{}')
})

t.test('passes other responses unchanged', async (t) => {
  const body = '{"a":1}'
  t.equal(await receive({ headers: { 'content-type': 'text/html' }, body }), body)
  t.equal(await receive({ body }), body)
  t.equal(await receive({ status: 206, headers: JSON_TYPE, body }), body)
  t.equal(await receive({ headers: JSON_TYPE, body: '' }), '')
})

t.test(
  'responses that cannot be read result in 502 if fields are removed, and are unchanged otherwise',
  async (t) => {
    const latin1 = { 'content-type': 'application/json; charset=iso-8859-1' }
    const rows = [
      [JSON_TYPE, '{"a":NaN}', 'not valid JSON'],
      [{ ...JSON_TYPE, 'content-encoding': 'br' }, '{"a":1}', 'compressed, or not in UTF-8'],
      [latin1, '{"a":1}', 'compressed, or not in UTF-8'],
    ] as const
    const adds = buildPlugin(plugin, { reply: { add: { b: 1 } } })
    for (const [headers, body, reason] of rows) {
      const rejected = await runPlugin(removeReply, {}, { reply: { headers, body } })
      t.equal(rejected.status, 502)
      t.match(rejected.body, reason)
      t.equal((await runPlugin(adds, {}, { reply: { headers, body } })).body, body)
    }
  },
)

t.test('a response beyond the limit results in 502', async (t) => {
  const built = buildPlugin(plugin, { reply: { remove: ['a'] }, limit: '8' })
  const { status, body } = await runPlugin(
    built,
    {},
    { reply: { headers: JSON_TYPE, body: '{"a":123}' } },
  )
  t.equal(status, 502)
  t.match(body, /response body exceeds the limit of 8 bytes/)
})

t.test('event streams are not buffered', async (t) => {
  const { body } = await runPlugin(
    removeReply,
    {},
    {
      handle: (x) => {
        x.start(200, new HeaderList(['content-type', 'text/event-stream']), -1)
        x.write(Buffer.from('data: {"a":1}\n\n'))
        t.equal((x as unknown as { body: string }).body, 'data: {"a":1}\n\n')
        x.end()
      },
    },
  )
  t.equal(body, 'data: {"a":1}\n\n')
})

t.test('requests complete, uncompressed responses only if the plugin changes them', async (t) => {
  const headers = { 'accept-encoding': 'gzip', range: 'bytes=0-1', 'if-range': '"1"' }
  const changed = await runPlugin(removeReply, { headers })
  t.strictSame(changed.x.headers.flat, ['accept-encoding', 'identity'])
  const same = await runPlugin(removeA, { headers })
  t.strictSame(same.x.headers.flat, Object.entries(headers).flat())
})

t.test('has only the hooks that its options need', async (t) => {
  t.strictSame(Object.keys(buildPlugin(plugin)), ['name'])
  t.strictSame(Object.keys(removeA).sort(), ['name', 'onRoute'])
  t.strictSame(Object.keys(removeReply).sort(), ['name', 'onReplyBody', 'onRoute'])
})

t.test('may not be listed by endpoints of services', async (t) => {
  t.throws(
    () => createPlugin(plugin, {}, createTestEnv(), 'endpoint'),
    /not allowed in the plugins/,
  )
})

t.test('rejects invalid options', async (t) => {
  const rows: [object, RegExp][] = [
    [{ request: { remove: ['a..b'] } }, /plugin "json": request: a field path must have the form/],
    [{ reply: { rename: { a: 'b.c' } } }, /plugin "json": reply: the new name of a must be a name/],
    [{ reply: { replace: {} } }, /unknown option "reply.replace"/],
    [{ reply: { remove: 'a' } }, /option "reply.remove" must be array/],
    [{ limit: 0 }, /option "limit" must be/],
    [{ limit: 'none' }, /plugin "json": limit must be from 1 byte to 1mb, got none/],
    [{ limit: '2mb' }, /limit must be from 1 byte to 1mb, got 2mb/],
    [{ limit: 'x' }, /limit must be a size such as/],
  ]
  for (const [options, problem] of rows) t.throws(() => buildPlugin(plugin, options), problem)
})
