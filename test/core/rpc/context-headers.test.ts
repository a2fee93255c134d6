import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { createHeaderBlock, HeaderList } from '../../../core/http/headers.ts'
import {
  formatContext,
  isJson,
  toClientError,
  toReplyHeaders,
} from '../../../core/rpc/context-headers.ts'
import { parseMetadata } from '../../../core/rpc/metadata.ts'
import { TestExchange } from '../../../sdk/testing.ts'

const STANDARD = createHeaderBlock([
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
])

t.test('the context of a call has host, method, URL and headers of the request', async (t) => {
  const x = new TestExchange({
    method: 'POST',
    path: '/greeter/hello?a=1&b=%20',
    host: 'a.test:8080',
  })
  const fields = [
    'x-one',
    '1',
    'host',
    'fake',
    'accept',
    '*/*',
    'method',
    'FAKE',
    'x-one',
    '2',
    'url',
    '/fake',
    'x-bytes',
    'ä',
  ]
  for (let i = 0; i < fields.length; i += 2) x.headers.append(fields[i]!, fields[i + 1]!)
  t.strictSame(parseMetadata(formatContext(x)), [
    'host',
    'a.test:8080',
    'method',
    'POST',
    'url',
    '/greeter/hello?a=1&b=%20',
    'x-one',
    '1',
    'accept',
    '*/*',
    'x-one',
    '2',
    'x-bytes',
    'ä',
  ])
})

t.test('response headers of the service are completed by the standard headers', async (t) => {
  const rows: [string, string[]][] = [
    ['', ['content-type', 'application/json', 'cache-control', 'no-store']],
    [
      'x-one: 1\r\n',
      ['x-one', '1', 'content-type', 'application/json', 'cache-control', 'no-store'],
    ],
    [
      'content-type: text/x\r\ncache-control: public\r\n',
      ['content-type', 'text/x', 'cache-control', 'public'],
    ],
    [
      'set-cookie: a\r\nset-cookie: b\r\ncache-control: \r\n',
      [
        'set-cookie',
        'a',
        'set-cookie',
        'b',
        'cache-control',
        '',
        'content-type',
        'application/json',
      ],
    ],
  ]
  for (const [metadata, fields] of rows)
    t.strictSame(toReplyHeaders(metadata, STANDARD)?.flat, fields, JSON.stringify(metadata))
})

t.test('connection, framing and mx-* headers of the service are removed', async (t) => {
  const names = [
    'connection',
    'content-length',
    'date',
    'keep-alive',
    'proxy-authenticate',
    'proxy-authentication-info',
    'proxy-authorization',
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'mx-account',
    'mx-namespace',
    'mx-x',
  ]
  const metadata = names.map((name) => `${name}: x\r\n`).join('')
  t.strictSame(toReplyHeaders(metadata, STANDARD)?.flat, STANDARD.fields)
})

t.test('headers of an error are filtered as in a response', async (t) => {
  const headers = ['allow', 'GET', 'date', 'x', 'mx-account', '{}', 'connection', 'close']
  const error = new GatewayError('a', 405, 'no', { headers, cause: 'why' })
  t.match(toClientError(error), { id: 'a', code: 405, message: 'no', cause: 'why' })
  t.strictSame(toClientError(error).headers, ['allow', 'GET'])
  const plainError = new GatewayError('a', 405, 'no')
  t.equal(toClientError(plainError), plainError)
})

t.test('malformed metadata returns undefined', async (t) => {
  for (const text of [
    'x',
    'x: 1',
    'X: 1\r\n',
    ': 1\r\n',
    'a b: 1\r\n',
    'x: \x01\r\n',
    'x: 1\n\r\n',
    `x: ${'a'.repeat(70_000)}\r\n`,
  ])
    t.equal(toReplyHeaders(text, STANDARD), undefined, JSON.stringify(text.slice(0, 50)))
})

t.test('appending to response headers does not change the standard headers', async (t) => {
  toReplyHeaders('', STANDARD)!.append('x-one', '1')
  t.strictSame(toReplyHeaders('', STANDARD)?.flat, STANDARD.fields)
  t.ok(toReplyHeaders('', STANDARD) instanceof HeaderList)
})

t.test('isJson accepts JSON content types only', async (t) => {
  const jsonTypes = [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/problem+json',
    'application/vnd.a.b+json;x=y',
    'application/json-rpc',
  ]
  const no = [
    'application/jsonx',
    'text/json',
    'application/protobuf',
    'application/x-ndjson',
    'json',
    '',
    'xapplication/json',
  ]
  for (const type of jsonTypes) t.ok(isJson(type), type)
  for (const type of no) t.notOk(isJson(type), type)
  const startMs = performance.now()
  isJson(`application/${'+'.repeat(60_000)}`)
  t.ok(performance.now() - startMs < 1000, 'linear time')
})
