import fc from 'fast-check'
import t from 'tap'
import type { ApiResponse } from '../../../core/api/messages.ts'
import { toApiReply } from '../../../core/api/response.ts'
import { GatewayError } from '../../../core/errors.ts'

const SERVICE = 'go.mx.api.users'

t.test('an api.Response has statusCode, header and body', (t) => {
  const response: ApiResponse = {
    statusCode: 201,
    header: {
      'Content-Type': { key: 'Content-Type', values: ['text/html'] },
      'Set-Cookie': { key: 'Set-Cookie', values: ['a=1', 'b=2'] },
      none: { key: 'None', values: [] },
    },
    body: '<p>',
  }
  const { status, headers, body } = toApiReply(response, SERVICE)
  t.equal(status, 201)
  t.same(headers.flat, ['content-type', 'text/html', 'set-cookie', 'a=1', 'set-cookie', 'b=2'])
  t.equal(body, '<p>')
  t.end()
})

t.test(
  'the status defaults to 200, the content type to application/json, and the body is empty if omitted',
  (t) => {
    for (const response of [
      {},
      { statusCode: 0, header: {}, body: '' },
      { statusCode: null, header: null, body: null, encoding: null },
      { statusCode: '200', encoding: '' },
    ]) {
      const { status, headers, body } = toApiReply(response, SERVICE)
      t.equal(status, 200)
      t.same(headers.flat, ['content-type', 'application/json'])
      t.equal(body, '')
    }
    t.end()
  },
)

t.test('204 and 304 get no content type', (t) => {
  for (const statusCode of [204, 304])
    t.same(toApiReply({ statusCode }, SERVICE).headers.flat, [], String(statusCode))
  t.same(toApiReply({ statusCode: 404 }, SERVICE).headers.flat, [
    'content-type',
    'application/json',
  ])
  t.end()
})

t.test('a pair without a key uses its name in the header object', (t) => {
  const header = { 'X-A': { values: ['1'] }, 'X-B': { key: '', values: ['2'] }, c: { key: 'X-C' } }
  t.same(toApiReply({ header }, SERVICE).headers.flat.slice(0, 4), ['x-a', '1', 'x-b', '2'])
  t.end()
})

t.test('connection, framing and mx-* headers of the service are removed', (t) => {
  const names = ['Connection', 'Content-Length', 'transfer-encoding', 'Upgrade', 'Keep-Alive', 'TE']
  const others = ['Trailer', 'Proxy-Connection', 'Proxy-Authenticate', 'Date', 'Mx-Account', 'mx-x']
  const header = Object.fromEntries(
    [...names, ...others, 'X-Kept'].map((key) => [key, { key, values: ['1'] }]),
  )
  t.same(toApiReply({ header }, SERVICE).headers.flat, [
    'x-kept',
    '1',
    'content-type',
    'application/json',
  ])
  t.end()
})

t.test('non-ASCII text is sent as UTF-8, including in headers', (t) => {
  const header = { 'X-City': { key: 'X-City', values: ['Zürich'] } }
  const { headers, body } = toApiReply({ header, body: 'Zürich' }, SERVICE)
  t.equal(Buffer.from(headers.get('x-city')!, 'latin1').toString(), 'Zürich')
  t.equal(body, 'Zürich')
  t.end()
})

t.test('a body with the encoding base64 is decoded', (t) => {
  t.same([...toApiReply({ body: 'AP8Q', encoding: 'base64' }, SERVICE).body], [0, 0xff, 0x10])
  t.equal(toApiReply({ body: 'AP8Q' }, SERVICE).body, 'AP8Q')
  t.end()
})

t.test(
  'a malformed api.Response fails with 502 and an error that names the fault and the service',
  (t) => {
    const pair = (key: unknown, values: unknown) => ({ header: { x: { key, values } } })
    const rows: [unknown, string][] = [
      [null, 'it must be an object of statusCode, header, body, encoding, got null'],
      [
        'text',
        'it must be an object of statusCode, header, body, encoding, got a value of type string',
      ],
      [
        { message: 'Hello' },
        'its members must be statusCode, header, body, encoding, got "message"',
      ],
      [
        { statuscode: 200 },
        'its members must be statusCode, header, body, encoding, got "statuscode"',
      ],
      [[], 'it must be an object of statusCode, header, body, encoding, got a list'],
      ...[99, 101, 199, 600, 1000, -200, 200.5, Number.NaN, '99', 'OK', true, {}].map(
        (statusCode): [unknown, string] => [
          { statusCode },
          `statusCode must be 0 or an integer from 200 to 599, got ${JSON.stringify(statusCode)}`,
        ],
      ),
      [{ header: [] }, 'header must be an object of pairs, got a list'],
      [{ header: { x: '1' } }, 'header "x" must be a pair, got a value of type string'],
      [pair(5, []), 'key of header "x" must be a string, got a value of type number'],
      [pair('x', '1'), 'values of header "x" must be a list, got a value of type string'],
      [pair('x', [1]), 'values of header "x" must be strings, got a value of type number'],
      ...[
        ['x', 'a\r\nb: c'],
        ['x', 'a\0'],
        ['x', 'a\x7f'],
        ['a b', '1'],
        ['a:', '1'],
        ['x\r\ny', '1'],
      ].map(([key, value]): [unknown, string] => [
        pair(key, [value]),
        'header "x" must have a token as key, and values without line breaks, got others',
      ]),
      [pair('x', ['a'.repeat(65_536)]), 'header must not be longer than 65536, got 65537 and more'],
      [{ body: { a: 1 } }, 'body must be a string, got a value of type object'],
      [{ body: 'AP8', encoding: 'gzip' }, 'encoding must be "base64" or absent, got another one'],
      [{ body: '!', encoding: 'base64' }, 'body must be Base64, got another text'],
    ]
    for (const [response, message] of rows) {
      t.throws(() => toApiReply(response, SERVICE), {
        code: 502,
        id: SERVICE,
        message: `the response is not an api.Response: ${message}`,
      })
    }
    t.end()
  },
)

t.test('an arbitrary document is either a valid response or fails with 502', (t) => {
  const value = fc.oneof(fc.string({ unit: 'binary' }), fc.constant('a\r\nb'), fc.jsonValue())
  const pair = fc.oneof(value, fc.record({ key: value, values: fc.oneof(value, fc.array(value)) }))
  const response = fc.record(
    {
      statusCode: fc.oneof(fc.integer({ min: 190, max: 610 }), value),
      header: fc.oneof(value, fc.dictionary(fc.string(), pair)),
      body: value,
      encoding: fc.oneof(fc.constant('base64'), value),
    },
    { requiredKeys: [] },
  )
  let replies = 0
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), response), (document) => {
      try {
        const { status, headers } = toApiReply(document, SERVICE)
        replies++
        return status >= 200 && status <= 599 && !/[\r\n\0]/.test(headers.flat.join(''))
      } catch (error) {
        return error instanceof GatewayError && error.code === 502
      }
    }),
    { numRuns: 2000 },
  )
  t.ok(replies > 50, `${replies} valid responses`)
  t.end()
})
