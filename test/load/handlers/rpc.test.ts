import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import type { Endpoint, Service } from '../../../core/contracts/registry.ts'
import { LISTENERS } from '../../fixtures/gateway.ts'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openGreeterGateway } from '../../fixtures/greeter-gateway.ts'
import { FORMS, getMetadata, openMxService } from '../../fixtures/mx-service.ts'
import { PROBES } from '../../fixtures/probes.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'
import { RawClient, statusCodes } from '../../fixtures/raw-client.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const ERROR_KEYS = ['Id', 'Code', 'Detail', 'Status']
/** Longer than a gateway waits silently for the rest of a request. */
const QUIET_MS = 250

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Record<string, unknown>
}

async function send(url: string, init: RequestInit = {}): Promise<Reply> {
  const reply = await fetch(url, init)
  const text = await reply.text()
  const isJson = reply.headers.get('content-type') === 'application/json' && text !== ''
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    json: isJson ? JSON.parse(text) : {},
  }
}

function post(url: string, body: RequestInit['body'], type = 'application/json'): Promise<Reply> {
  return send(url, { method: 'POST', body: body ?? null, headers: { 'content-type': type } })
}

/** Adds metadata to an endpoint of an entry. */
function withMetadata(entry: Service, name: string, metadata: Endpoint['metadata']): Service {
  const endpoints = entry.endpoints.map((endpoint) =>
    endpoint.name === name
      ? { ...endpoint, metadata: { ...endpoint.metadata, ...metadata } }
      : endpoint,
  )
  return { ...entry, endpoints }
}

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of FORMS) {
    t.test(
      `${name}, ${protocol}: GET and POST call endpoints, and JSON passes through`,
      async (t) => {
        const { origin, service } = await openGreeterGateway(t, { listener }, { protocol })
        const hello = `${origin}/greeter/hello`
        const replies = [
          await send(`${hello}?name=J%C3%B6rg`),
          await post(hello, '{ "name": "Jörg" }'),
          await post(hello, '{"name":"Jörg"}', 'application/json; charset=utf-8'),
          await send(hello, { method: 'PUT', body: '{"name":"Jörg"}', headers: JSON_TYPE }),
          await send(`${hello}?name=J%C3%B6rg`, { method: 'DELETE' }),
        ]
        for (const { status, headers, json } of replies) {
          t.equal(status, 200)
          t.equal(headers.get('content-type'), 'application/json')
          t.equal(
            headers.get('cache-control'),
            'no-store',
            'responses for one caller are not cached',
          )
          t.match(headers.get('vary'), /authorization/)
          t.strictSame(json, { message: 'Hello Jörg' })
        }
        t.equal(service.calls[1]?.body, '{ "name": "Jörg" }', 'unchanged')
        t.equal(service.calls.length, replies.length)
      },
    )

    t.test(`${name}, ${protocol}: protobuf passes through`, async (t) => {
      const { origin } = await openGreeterGateway(t, { listener }, { protocol })
      const reply = await fetch(`${origin}/greeter/proto`, {
        method: 'POST',
        headers: { 'content-type': 'application/protobuf' },
        body: `${Buffer.from('0a04', 'hex').toString('latin1')}John`,
      })
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('content-type'), 'application/protobuf')
      t.equal(Buffer.from(await reply.arrayBuffer()).toString('latin1'), '\n\nHello John')
      const json = await post(`${origin}/greeter/proto`, '{"name":"John"}')
      t.strictSame(json.json, { message: 'Hello John' })
    })

    t.test(
      `${name}, ${protocol}: returns {} for an empty JSON result, 204 for protobuf`,
      async (t) => {
        const { origin } = await openGreeterGateway(
          t,
          { listener },
          {
            protocol,
            intercept: (call) => {
              if (call.endpoint !== 'Greeter.Nothing') return false
              call.reply('', '')
              return true
            },
          },
        )
        const json = await send(`${origin}/greeter/nothing`)
        t.strictSame([json.status, json.text], [200, '{}'])
        t.equal(json.headers.get('content-type'), 'application/json')
        const empty = await post(`${origin}/greeter/proto`, '', 'application/protobuf')
        t.strictSame([empty.status, empty.text], [204, ''])
        t.equal(empty.headers.get('content-type'), null)
      },
    )

    t.test(
      `${name}, ${protocol}: returns the error body for errors of gateway and service`,
      async (t) => {
        const { origin } = await openGreeterGateway(t, { listener }, { protocol })
        const rows: [string, RequestInit, number, string, RegExp][] = [
          ['/greeter/fail?code=409', {}, 409, 'greeter.own', /^as requested$/],
          ['/greeter/fail?code=599', {}, 599, 'greeter.own', /^as requested$/],
          ['/greeter/crash', {}, 500, 'go.mx.api.greeter', /^internal error$/],
          ['/greeter/hello', {}, 400, 'go.mx.api.greeter', /name/],
          [
            '/greeter/none',
            {},
            404,
            'go.mx.api.greeter',
            /^endpoint not found: go\.mx\.api\.greeter\.Greeter\.None$/,
          ],
          [
            '/unknown/call',
            {},
            404,
            'go.mx.api.unknown',
            /^service not found: go\.mx\.api\.unknown$/,
          ],
          [
            '/greeter/hello',
            { method: 'POST', body: '{', headers: JSON_TYPE },
            400,
            'go.mx.api.greeter',
            /JSON/,
          ],
        ]
        for (const [path, init, code, id, detail] of rows) {
          const { status, headers, json } = await send(origin + path, init)
          t.equal(status, code, path)
          t.equal(headers.get('content-type'), 'application/json')
          t.strictSame(Object.keys(json), ERROR_KEYS)
          t.strictSame([json['Id'], json['Code']], [id, code])
          t.match(json['Detail'], detail)
          t.notMatch(JSON.stringify(json), /secret|\.ts|\bat [\w.]+ \(/, 'no internal details')
        }
      },
    )
  }

  t.test(`${name}: HEAD returns no body, even for an error`, async (t) => {
    const { port } = (await openGreeterGateway(t, { listener })).gateway
    const client = new RawClient(port)
    t.teardown(() => client.destroy())
    for (const [i, path] of ['/hello?name=John', '/none', '/hello?name=John'].entries()) {
      client.send(`HEAD /greeter${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
      await client.waitUntil(({ text }) => text.split('\r\n\r\n').length === i + 2)
    }
    t.strictSame(statusCodes(client.text), [200, 404, 200])
    t.match(client.text, /content-length: 24\r\n/i)
    t.notMatch(client.text, /Hello|Detail/)
  })

  t.test(`${name}: accepts chunked and large bodies`, async (t) => {
    const { port } = (await openGreeterGateway(t, { listener })).gateway
    const pad = 'x'.repeat(3 * 1024 * 1024)
    for (const chunked of [true, false]) {
      const body = JSON.stringify({ pad })
      const text = await new Promise<string>((resolve, reject) => {
        const headers = chunked
          ? { ...JSON_TYPE, 'transfer-encoding': 'chunked' }
          : { ...JSON_TYPE, 'content-length': body.length }
        const options = { port, host: '127.0.0.1', path: '/greeter/echo', method: 'POST', headers }
        const request = httpRequest(options, (reply) => {
          const chunks: Buffer[] = []
          reply.on('data', (chunk: Buffer) => chunks.push(chunk))
          reply.on('end', () => resolve(Buffer.concat(chunks).toString()))
        })
        request.on('error', reject)
        for (let at = 0; at < body.length; at += 500_000)
          request.write(body.slice(at, at + 500_000))
        request.end()
      })
      t.ok(text === body, chunked ? 'chunked' : 'with a length')
    }
  })

  t.test(
    `${name}: returns 413 for a body above the limit, with and without Content-Length`,
    async (t) => {
      const { port, gateway } = (await openGreeterGateway(t, { listener })).gateway
      const line = 'POST /greeter/echo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n'
      const announced = new RawClient(port)
      announced.send(`${line}content-length: ${17 * 1024 * 1024}\r\n\r\n`)
      await announced.waitUntil(({ text }) => text.includes('"Status":"Payload Too Large"'))
      t.match(statusCodes(announced.text), [413])
      announced.destroy()
      // If bytes are unread when it closes the connection, `uws` resets the connection, and the response may be lost
      // (docs/listeners.md).
      let text = ''
      for (let tries = 0; text === '' && tries < 10; tries++) {
        const chunked = new RawClient(port)
        chunked.send(`${line}transfer-encoding: chunked\r\n\r\n`)
        for (let i = 0; i < 16; i++) chunked.send(`100000\r\n${'x'.repeat(1024 * 1024)}\r\n`)
        await chunked.send('1\r\nx\r\n').ended()
        ;({ text } = chunked)
      }
      t.match(statusCodes(text), [413])
      await gateway.idle()
    },
  )

  t.test(`${name}: rejects malformed requests`, async (t) => {
    const { gateway, service } = await openGreeterGateway(t, { listener })
    const probes = PROBES.filter((probe) => name === 'node' || probe.strictOnly !== true)
    const queue = [...probes.entries()]
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [number, { name, raw, expectation }] = next
        const hidden = `/greeter/hello?s=${number}`
        const visible = '/greeter/nothing'
        const { text } = await new RawClient(gateway.port)
          .send(raw.replaceAll('/smuggled', hidden).replaceAll('/probe', visible))
          .settle(QUIET_MS)
        const served = statusCodes(text).filter((status) => status === 200).length
        t.ok(served <= (expectation === 'once' ? 1 : 0), name, { text: text.slice(0, 300) })
      }
    }
    await Promise.all(Array.from({ length: 24 }, work))
    t.same(
      service.calls.filter(({ body }) => body.includes('"s"')),
      [],
      'no hidden request was served',
    )
    t.equal((await send(`${gateway.origin}/greeter/nothing`)).status, 200)
  })
}

t.test('converts query parameters to fields, nested fields and lists by the schema', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const rows: [string, unknown][] = [
    ['echo', {}],
    [
      'echo?a=1&b=true&c=x&d=%22q%22&e=null&f=1.5',
      { a: 1, b: true, c: 'x', d: 'q', e: null, f: 1.5 },
    ],
    ['echo?a.b=1&a[c]=2&a.d[e]=x', { a: { b: 1, c: 2, d: { e: 'x' } } }],
    ['echo?a=1&a=2', { a: [1, 2] }],
    ['echo?a[]=x', { a: ['x'] }],
    ['echo?a[1]=y&a[0]=x', { a: ['x', 'y'] }],
    ['echo?a=x+y%20z%26', { a: 'x y z&' }],
    ['echo?a', { a: '' }],
    ['echo?n=007&m=9007199254740993', { n: '007', m: '9007199254740993' }],
    ['hello?name=123', { message: 'Hello 123' }],
    ['typed?text=1&count=2&ratio=3&on=1', { text: '1', count: 2, ratio: 3, on: true }],
    ['typed?tags=a', { tags: ['a'] }],
    ['typed?tags=1&tags=2&inner.value=3', { tags: ['1', '2'], inner: { value: '3' } }],
    ['typed?id=9223372036854775807', { id: '9223372036854775807' }],
  ]
  for (const [path, expected] of rows) {
    const { status, json } = await send(`${origin}/greeter/${path}`)
    t.strictSame([status, json], [200, expected], path)
  }
})

t.test('rejects invalid query parameters with 400 and names the field', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const pairs = (count: number): string =>
    Array.from({ length: count }, (_, i) => `a${i}=1`).join('&')
  const rows: [string, RegExp][] = [
    ['echo?a=%ff', /percent-encoded/],
    ['echo?a=%', /percent-encoded/],
    ['echo?=1', /must have a name/],
    ['echo?__proto__=1', /__proto__/],
    ['echo?a.__proto__.b=1', /__proto__/],
    ['echo?a[constructor][prototype]=1', /constructor/],
    ['echo?a=1&a.b=2', /a\.b/],
    ['echo?a[=1', /must be a name/],
    [`echo?${'a.'.repeat(40)}b=1`, /nest deeper/],
    [`echo?${pairs(257)}`, /at most 256/],
    ['typed?count=x', /^request\.count must be an integer/],
    ['typed?count=1.5', /count/],
    ['typed?ratio=NaN', /ratio/],
    ['typed?on=maybe', /on must be/],
    ['typed?id=9223372036854775808', /id must be/],
    ['typed?inner=5', /inner/],
    ['typed?text.a=5', /text/],
  ]
  for (const [path, detail] of rows) {
    const { status, json } = await send(`${origin}/greeter/${path}`)
    t.equal(status, 400, path)
    t.match(json['Detail'], detail)
    t.equal(json['Id'], 'go.mx.api.greeter')
  }
  t.equal((await send(`${origin}/greeter/echo?${pairs(256)}`)).status, 200)
  t.equal(service.calls.length, 1, 'no other request reached the service')
})

t.test('rejects 10 000 pairs immediately', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const pairs = Array.from({ length: 10_000 }, (_, i) => `a${i}=1`).join('&')
  const form = await post(`${origin}/greeter/echo`, pairs, 'application/x-www-form-urlencoded')
  t.match(form, { status: 400, json: { Detail: /at most 256/ } })
  // As many as fit into a request head.
  const query = await send(`${origin}/greeter/echo?${pairs.slice(0, 15_000)}`)
  t.match(query, { status: 400, json: { Detail: /at most 256/ } })
  t.same(service.calls, [])
})

t.test('the query overrides path variables, and the body overrides both', async (t) => {
  const service = await openMxService(t, createGreeter())
  const paths = { path: '/people/{name}/{inner.value}', method: 'GET,POST' }
  const entry = withMetadata(service.entry, 'Greeter.Echo', { ...paths, handler: 'rpc' })
  const { origin } = await openRpcGateway(t, [entry])
  const rows: [string, RequestInit, unknown][] = [
    ['/people/John/7', {}, { name: 'John', inner: { value: 7 } }],
    ['/people/J%C3%B6rg/a%20b', {}, { name: 'Jörg', inner: { value: 'a b' } }],
    ['/people/John/7?name=Jane&x=1', {}, { name: 'Jane', inner: { value: 7 }, x: 1 }],
    [
      '/people/John/7?x=1&y=2',
      {
        method: 'POST',
        body: '{"x":[3],"inner":{"other":12345678901234567890}}',
        headers: JSON_TYPE,
      },
      // The text of the body is unchanged.
      '{"name":"John","y":2,"x":[3],"inner":{"value":7,"other":12345678901234567890}}',
    ],
    [
      '/people/John/7',
      { method: 'POST', body: '{"name":null}', headers: JSON_TYPE },
      { name: null, inner: { value: 7 } },
    ],
  ]
  for (const [path, init, expected] of rows) {
    const { status, json } = await send(origin + path, init)
    t.equal(status, 200, path)
    if (typeof expected === 'string') t.equal(service.calls.at(-1)?.body, expected)
    else t.strictSame(json, expected, path)
  }
})

t.test('the body overrides the query; objects are merged, lists are not', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const rows: [string, string, unknown][] = [
    ['a=1&b=2', '{"b":3}', { a: 1, b: 3 }],
    ['a.x=1&a.y=2', '{"a":{"y":3}}', { a: { x: 1, y: 3 } }],
    ['a=1&a=2', '{"a":[3]}', { a: [3] }],
    ['a=1', '', { a: 1 }],
    ['a.b=1', '{"a":"x"}', { a: 'x' }],
  ]
  for (const [query, body, expected] of rows) {
    const { status, json } = await post(`${origin}/greeter/echo?${query}`, body)
    t.strictSame([status, json], [200, expected], `${query} ${body}`)
  }
  const merged = await post(`${origin}/greeter/proto?name=x`, '\n\x04John', 'application/protobuf')
  t.match(merged, { status: 400, json: { Detail: /merged into a JSON body/ } })
})

t.test('converts forms to JSON', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const form = 'application/x-www-form-urlencoded'
  const rows: [string, string, unknown][] = [
    ['echo', 'a=1&b=x+y&c.d=%C3%A9', { a: 1, b: 'x y', c: { d: 'é' } }],
    ['echo?q=1&a=0', 'a=1', { q: 1, a: 1 }],
    ['typed', 'count=5&tags=a&tags=b&on=false', { count: 5, on: false, tags: ['a', 'b'] }],
    ['hello', 'name=007', { message: 'Hello 007' }],
  ]
  for (const [path, body, expected] of rows) {
    const { status, json } = await post(`${origin}/greeter/${path}`, body, form)
    t.strictSame([status, json], [200, expected], `${path} ${body}`)
    t.same(getMetadata(service.calls.at(-1)!, 'content-type'), ['application/json'])
  }
  t.match(await post(`${origin}/greeter/hello`, '{"name":"x"}', form), {
    status: 400,
    json: { Detail: /application\/json/ },
  })
})

t.test('converts multipart forms to JSON and files to Base64', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const form = new FormData()
  form.append('name', 'Jörg')
  form.append('tags[]', 'a')
  form.append('tags[]', 'b')
  form.append('file', new Blob([Uint8Array.of(0, 255, 10)]), 'x.bin')
  const { status, json } = await send(`${origin}/greeter/echo?q=1`, { method: 'POST', body: form })
  t.strictSame([status, json], [200, { q: 1, name: 'Jörg', tags: ['a', 'b'], file: 'AP8K' }])
  const broken = await post(`${origin}/greeter/echo`, 'x', 'multipart/form-data; boundary=y')
  t.match(broken, { status: 400, json: { Detail: /multipart/ } })
})

t.test('ignores Content-Encoding of a request without a body', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const headers = { 'content-encoding': 'gzip' }
  t.equal((await fetch(`${origin}/greeter/echo?a=1`, { headers })).status, 200)
})

t.test('returns 400 for a non-object body with a query', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const headers = { 'content-type': 'application/json' }
  for (const body of ['[1]', '"x"', 'null']) {
    const reply = await fetch(`${gateway.origin}/greeter/echo?a=1`, {
      method: 'POST',
      headers,
      body,
    })
    t.equal(reply.status, 400, body)
    t.match(await reply.json(), {
      Detail: /must be a JSON object, because query or path fields are/,
    })
  }
  t.same(service.calls, [])
})

t.test('returns 415 for content types other than JSON and protobuf', async (t) => {
  const { origin } = await openGreeterGateway(t)
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/grpc+json',
  ])
    t.strictSame((await post(`${origin}/greeter/hello`, '{"name":"a"}', type)).status, 200, type)
  for (const type of [
    'application/protobuf',
    'application/proto',
    'application/octet-stream',
    'application/grpc',
    'application/grpc+proto',
  ]) {
    const { status, text } = await post(`${origin}/greeter/proto`, '\n\x01a', type)
    t.strictSame([status, text], [200, '\n\x07Hello a'], type)
  }
  const none = await fetch(`${origin}/greeter/hello`, {
    method: 'POST',
    body: Buffer.from('{"name":"a"}'),
  })
  t.equal(none.status, 200, 'no Content-Type means JSON')
  for (const type of [
    'text/plain',
    'application/xml',
    'image/png',
    'json',
    'application/json; charset=latin1',
    'x/y;;;',
  ]) {
    const { status, headers, json } = await post(`${origin}/greeter/hello`, '{"name":"a"}', type)
    t.equal(status, 415, type)
    t.match(headers.get('accept'), /application\/json, application\/protobuf/)
    t.match(json, { Id: 'go.mx.api.greeter', Code: 415, Status: 'Unsupported Media Type' })
  }
  const unread = await post(`${origin}/greeter/hello`, '\n\x01a', 'application/protobuf')
  t.match(unread, { status: 415, json: { Detail: /Greeter\.Hello accepts application\/json/ } })
})

t.test('json-rpc and proto-rpc: unwraps the request and returns a plain result', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const envelope = '{"id":7,"method":"Greeter.Echo","params":[{"n":9007199254740993}]}'
  const echo = `${origin}/greeter/echo`
  const plain = await post(echo, envelope, 'application/json-rpc')
  t.equal(plain.status, 200)
  t.equal(plain.headers.get('content-type'), 'application/json')
  const merged = await post(`${echo}?q=1`, envelope, 'application/json-rpc; charset=utf-8')
  t.equal(merged.status, 200)
  t.strictSame(
    service.calls.map(({ body }) => body),
    ['{"n":9007199254740993}', '{"q":1,"n":9007199254740993}'],
    'numbers are unchanged',
  )
  for (const body of ['{"n":1}', '{"params":[{},{}]}', '[]']) {
    const { status, json } = await post(echo, body, 'application/json-rpc')
    t.equal(status, 400, body)
    t.match(json, { Id: 'go.mx.api.greeter', Detail: /"params": \[\{…\}\]/ })
  }
  for (const type of ['application/proto-rpc', 'application/octet-stream']) {
    const { status, text } = await post(
      `${origin}/greeter/proto`,
      '\0\0\0\x02\n\0\0\0\0\x03\n\x01a',
      type,
    )
    t.strictSame([status, text], [200, '\n\x07Hello a'], type)
  }
  const bare = await post(`${origin}/greeter/proto`, '\n\x01a', 'application/proto-rpc')
  t.match(bare, { status: 400, json: { Detail: /two messages/ } })
  t.strictSame(
    service.calls.map((call) => getMetadata(call, 'content-type')[0]),
    ['application/json', 'application/json', 'application/protobuf', 'application/protobuf'],
    'the service receives no envelope',
  )
})

t.test(
  'gRPC types: errors include the gRPC status, and gRPC frames are rejected with 415',
  async (t) => {
    const { origin } = await openGreeterGateway(t)
    const proto = `${origin}/greeter/proto`
    for (const type of ['application/grpc', 'application/grpc+proto', 'application/grpc+json']) {
      const framed = await post(proto, '\0\0\0\0\x03\n\x01a', type)
      t.match(framed, { status: 415, json: { Detail: /gRPC frames require HTTP\/2/ } })
      t.equal(framed.headers.get('grpc-status'), '3')
      t.match(framed.headers.get('accept'), /application\/protobuf/)
    }
    const rows: [string, number, string][] = [
      ['/greeter/crash', 500, '13'],
      ['/greeter/unknown', 404, '5'],
      ['/greeter/hello?a%5B__proto__%5D=1', 400, '3'],
    ]
    for (const [path, code, status] of rows) {
      const failed = await post(origin + path, '{}', 'application/grpc+json')
      t.equal(failed.status, code, path)
      t.equal(failed.headers.get('grpc-status'), status, path)
      t.equal(decodeURIComponent(failed.headers.get('grpc-message')!), failed.json['Detail'])
      const plain = await post(origin + path, '{}')
      t.equal(plain.headers.get('grpc-status'), null)
    }
  },
)

t.test('rejects deep, long and ambiguous JSON with 400', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const rows: [string, string, RegExp][] = [
    ['malformed', '{"name":', /JSON/],
    ['two documents', '{}{}', /JSON/],
    ['nested 100 000 deep', '['.repeat(100_000), /nest|JSON/],
    ['an object nested 100 000 levels deep', '{"a":'.repeat(100_000), /nest|JSON/],
    ['__proto__', '{"__proto__":{"admin":true}}', /__proto__/],
    ['__proto__ in escapes', '{"\\u005f_proto__":{"admin":true}}', /__proto__/],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]).toString('latin1'), /UTF-8|JSON/],
  ]
  for (const query of ['', '?q=1']) {
    for (const [description, body, detail] of rows) {
      const bytes = Buffer.from(body, 'latin1')
      const { status, json } = await post(`${origin}/greeter/echo${query}`, bytes)
      t.equal(status, 400, `${description} ${query}`)
      t.match(json['Detail'], detail)
    }
    const twice = await post(`${origin}/greeter/echo${query}`, '{"name":1,"name":2}')
    t.match(twice, { status: 200, json: { name: 2 } }, 'the last value of a repeated name is used')
  }
  t.equal(({} as Record<string, unknown>)['admin'], undefined)
})

t.test('responds to OPTIONS without a call', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const { status, headers, text } = await send(`${origin}/greeter/hello`, { method: 'OPTIONS' })
  t.strictSame([status, text], [204, ''])
  t.equal(headers.get('allow'), 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
  t.same(service.calls, [])
})

t.test('returns 405 without a call for other methods', async (t) => {
  const { origin, service } = await openGreeterGateway(t)
  const allow = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
  for (const method of ['PURGE', 'PROPFIND', 'REPORT']) {
    const [reply] = await once(
      httpRequest(`${origin}/greeter/nothing`, { method }).end(),
      'response',
    )
    reply.resume()
    t.strictSame([reply.statusCode, reply.headers.allow], [405, allow], method)
  }
  t.same(service.calls, [])
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'])
    t.equal((await send(`${origin}/greeter/nothing`, { method })).status, 200, method)
  t.equal(service.calls.length, 6)
})

t.test('returns 405 with Allow if the declared route has other methods', async (t) => {
  const service = await openMxService(t, createGreeter())
  const entry = withMetadata(service.entry, 'Greeter.Echo', {
    path: '/people/{name}',
    method: 'GET,POST',
    handler: 'rpc',
  })
  const { origin } = await openRpcGateway(t, [entry])
  t.strictSame((await send(`${origin}/people/John`)).json, { name: 'John' })
  t.equal(
    (await send(`${origin}/people/John`, { method: 'HEAD' })).status,
    200,
    'HEAD counts as GET',
  )
  const { status, headers, json } = await send(`${origin}/people/John`, { method: 'DELETE' })
  t.equal(status, 405)
  t.match(headers.get('allow'), /GET.*POST/)
  t.match(json, { Code: 405, Status: 'Method Not Allowed' })
  t.equal(service.calls.length, 2)
})

t.test('passes request headers as context, except connection and internal headers', async (t) => {
  const { gateway, service } = await openGreeterGateway(t)
  const fields = [
    'Host: a.test',
    'X-One: 1',
    'X-Many: a',
    'x-many: b',
    'X-Text: f\xc3\xa4r',
    'Authorization: Bearer abc',
    'Mx-Namespace: staging',
    'Mx-Account: {"id":"admin"}',
    'Mx-Timeout: 5',
    'Mx-Service: other',
    'Connection: keep-alive, X-Hop',
    'X-Hop: 1',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Method: FAKE',
    'Url: /fake',
  ].join('\r\n')
  const client = new RawClient(gateway.port)
  t.teardown(() => client.destroy())
  client.send(`GET /greeter/context?a=1 HTTP/1.1\r\n${fields}\r\n\r\n`)
  const [reply] = await client.replies(1)
  const body = reply!.slice(reply!.indexOf('\r\n\r\n') + 4)
  const response = JSON.parse(Buffer.from(body, 'latin1').toString())
  t.strictSame(response.fields, {
    host: ['a.test'],
    method: ['GET'],
    url: ['/greeter/context?a=1'],
    'x-one': ['1'],
    'x-many': ['a', 'b'],
    // One character per byte.
    'x-text': ['f\xc3\xa4r'],
    authorization: ['Bearer abc'],
    'mx-namespace': ['staging'],
  })
  t.equal(response.namespace, 'staging')
  t.equal(response.hasAccount, false)
  t.same(getMetadata(service.calls[0]!, 'mx-account'), [])
})

t.test('returns result metadata as headers, except headers that the gateway manages', async (t) => {
  const metadata = [
    'x-one: 1',
    'set-cookie: a=1',
    'set-cookie: b=2',
    'cache-control: max-age=60',
    'content-length: 5',
    'transfer-encoding: chunked',
    'connection: close',
    'mx-account: x',
    'x-bytes: \xe4',
  ]
  for (const protocol of FORMS) {
    const { origin } = await openGreeterGateway(
      t,
      {},
      {
        protocol,
        intercept: (call) => {
          const text = `${metadata.join('\r\n')}\r\n`
          call.reply(call.endpoint === 'Greeter.Echo' ? 'broken' : text, '{"a":1}')
          return true
        },
      },
    )
    const { status, headers, json } = await send(`${origin}/greeter/hello?name=x`)
    t.strictSame([status, json], [200, { a: 1 }])
    t.equal(headers.get('x-one'), '1')
    t.strictSame(headers.getSetCookie(), ['a=1', 'b=2'])
    t.equal(headers.get('cache-control'), 'max-age=60')
    t.equal(headers.get('content-length'), '7')
    t.equal(headers.get('mx-account'), null)
    t.equal(headers.get('x-bytes'), 'ä')
    if (protocol.endsWith('http')) continue
    const broken = await send(`${origin}/greeter/echo`)
    t.match(broken, { status: 502, json: { Detail: /malformed/ } })
  }
})

t.test('exposes only Health of the Debug endpoints', async (t) => {
  for (const declares of [true, false]) {
    const { origin, service } = await openGreeterGateway(t, {}, { declares })
    t.strictSame((await send(`${origin}/greeter/debug/health`)).json, { status: 'ok' })
    for (const name of ['stats', 'log', 'trace', 'Stats', 'health-x', 'any']) {
      const { status, json } = await send(`${origin}/greeter/debug/${name}`)
      t.equal(status, 404, name)
      t.match(json['Detail'], /^endpoint not found: go\.mx\.api\.greeter\.Debug\./)
    }
    t.equal(service.calls.length, 1)
  }
})

t.test('forwards unknown endpoints to a service without declared endpoints', async (t) => {
  const { origin, service } = await openGreeterGateway(t, {}, { declares: false })
  t.strictSame((await send(`${origin}/greeter/hello?name=x`)).json, { message: 'Hello x' })
  t.match(await send(`${origin}/greeter/none`), { status: 404, json: { Id: 'go.mx.api.greeter' } })
  t.equal(service.calls.length, 2)
})

t.test('returns problem details to clients that accept them (RFC 9457)', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const reply = await fetch(`${origin}/greeter/fail?code=409`, {
    headers: { accept: 'application/problem+json' },
  })
  t.equal(reply.status, 409)
  t.equal(reply.headers.get('content-type'), 'application/problem+json')
  t.strictSame(await reply.json(), {
    type: 'about:blank',
    title: 'Conflict',
    status: 409,
    detail: 'as requested',
    instance: 'greeter.own',
  })
})

t.test('sticky balancing binds a client to the node that responded', async (t) => {
  const nodes = await Promise.all([0, 1, 2].map(() => openMxService(t, createGreeter())))
  const gateway = await openRpcGateway(
    t,
    nodes.map(({ entry }) => entry),
    {
      upstream: {
        balance: { kind: 'round-robin', sticky: { cookie: 'node', secure: false } },
      } as never,
    },
  )
  const first = await fetch(`${gateway.origin}/greeter/hello?name=x`)
  await first.text()
  const cookie = first.headers.getSetCookie()[0]!.split(';')[0]!
  for (let i = 0; i < 6; i++) {
    const reply = await send(`${gateway.origin}/greeter/hello?name=x`, { headers: { cookie } })
    t.equal(reply.status, 200)
  }
  t.same(nodes.map(({ calls }) => calls.length).sort(), [0, 0, 7])
})

t.test('responds to random requests with client errors only', async (t) => {
  for (const listener of Object.values(LISTENERS)) {
    const { gateway } = await openGreeterGateway(t, { listener })
    const unusualText = fc.constantFrom(
      ...'[]{}.=&%+"\'\\:,;-_~*!()@/?',
      ...[
        '%5b',
        '%5d',
        '%00',
        '%ff',
        '%c3%a9',
        '__proto__',
        'a',
        'b',
        '0',
        '1e9',
        'true',
        'null',
        '""',
      ],
    )
    const query = fc.array(unusualText, { maxLength: 12 }).map((parts) => parts.join(''))
    const body = fc.oneof(
      query,
      fc.json(),
      fc.json().map((json) => json.slice(0, -1)),
      fc.string({ unit: 'binary' }),
    )
    const type = fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=a',
      'application/protobuf',
      'text/plain',
      ';',
    )
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS')
    const path = fc.constantFrom('echo', 'typed', 'hello', 'proto', 'count', 'none')
    await fc.assert(
      fc.asyncProperty(method, path, query, type, body, async (method, path, query, type, body) => {
        const options = {
          port: gateway.port,
          host: '127.0.0.1',
          method,
          path: `/greeter/${path}?${query}`,
          headers: { 'content-type': type, 'content-length': Buffer.byteLength(body) },
          agent: false,
        }
        const request = httpRequest(options).end(body)
        const [reply] = (await once(request, 'response')) as [IncomingMessage]
        reply.resume()
        await once(reply, 'end')
        return reply.statusCode! < 500
      }),
      { numRuns: scaleRuns(300) },
    )
  }
})
