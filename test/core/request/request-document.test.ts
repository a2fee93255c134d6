import t from 'tap'
import { parseSchema } from '../../../core/request/coercion/schema-shape.ts'
import { toRequestType } from '../../../core/request/media-type.ts'
import { type RequestParts, toRequestDocument } from '../../../core/request/request-document.ts'

const EMPTY = new Uint8Array(0)

const shape = parseSchema(
  JSON.stringify({
    type: 'object',
    properties: {
      id: { type: 'string' },
      limit: { type: 'integer' },
      data: { type: 'string' },
      options: { type: 'object', properties: { all: { type: 'boolean' } } },
    },
  }),
)

function make(
  parts: Partial<Omit<RequestParts, 'type' | 'body'>> & {
    type?: string
    body?: string | Uint8Array
  },
) {
  const { body = EMPTY, type, ...rest } = parts
  return toRequestDocument({
    variables: [],
    query: '',
    shape: undefined,
    type: toRequestType(type),
    body: typeof body === 'string' ? Buffer.from(body) : body,
    ...rest,
  })
}

t.test('query parameters become request fields, coerced by the schema', async (t) => {
  t.equal(make({ query: 'name=John' }), '{"name":"John"}')
  t.equal(
    make({ query: 'id=1&limit=2&options.all=true', shape }),
    '{"id":"1","limit":2,"options":{"all":true}}',
  )
  t.equal(make({ query: 'id=1&limit=2' }), '{"id":1,"limit":2}')
  t.throws(() => make({ query: 'limit=x', shape }), {
    code: 400,
    message: 'request.limit must be an integer, got "x"',
  })
})

t.test('an empty request is {}', async (t) => {
  t.equal(make({}), '{}')
  t.equal(make({ type: 'application/x-www-form-urlencoded' }), '{}')
  t.equal(make({ query: '&' }), '{}')
})

t.test('the body is unchanged without path variables and query', async (t) => {
  for (const [type, body] of [
    ['application/json', Buffer.from('{"id":9223372036854775807')],
    ['application/json', Buffer.from([0xff])],
    ['application/protobuf', Buffer.from([0x0a, 0x01])],
    ['application/protobuf', EMPTY],
  ] as const)
    t.equal(make({ type, body, shape }), body)
})

t.test('query fields take precedence over path variables, and body fields over both', async (t) => {
  const variables = ['id', '7', 'options.all', 'false']
  t.equal(make({ variables, shape }), '{"id":"7","options":{"all":false}}')
  t.equal(
    make({ variables, query: 'id=8&limit=1', shape }),
    '{"id":"8","options":{"all":false},"limit":1}',
  )
  t.same(
    JSON.parse(
      make({
        variables,
        query: 'limit=1',
        body: '{"id":"9","options":{"x":null}}',
        shape,
      }) as string,
    ),
    {
      id: '9',
      limit: 1,
      options: { all: false, x: null },
    },
  )
  t.same(
    JSON.parse(
      make({
        variables,
        type: 'application/x-www-form-urlencoded',
        body: 'id=9&options[all]=1',
        shape,
      }) as string,
    ),
    {
      id: '9',
      options: { all: true },
    },
  )
})

t.test('forms become JSON', async (t) => {
  t.equal(
    make({ type: 'application/x-www-form-urlencoded', body: 'id=1&limit=2', shape }),
    '{"id":"1","limit":2}',
  )
  const body = [
    '--b\r\nContent-Disposition: form-data; name="limit"\r\n\r\n3\r\n',
    '--b\r\nContent-Disposition: form-data; name="data"; filename="x"\r\n\r\n1234\r\n--b--\r\n',
  ].join('')
  const type = 'multipart/form-data; boundary=b'
  t.equal(make({ type, body, shape }), '{"limit":3,"data":"MTIzNA=="}')
  t.equal(
    make({ type, body }),
    '{"limit":3,"data":"MTIzNA=="}',
    'Base64 that looks like a number stays a string',
  )
})

t.test('rejects a protobuf body with query or path variables with 400', async (t) => {
  const body = Buffer.from([0x0a, 0x01])
  for (const parts of [{ query: 'a=1' }, { variables: ['a', '1'] }])
    t.throws(() => make({ type: 'application/protobuf', body, ...parts }), {
      code: 400,
      message: /can only be merged into a JSON body, got application\/protobuf$/,
    })
  t.equal(
    make({ type: 'application/protobuf', query: 'a=1' }),
    '{"a":1}',
    'without a body, the query becomes JSON',
  )
})

t.test(
  'rejects a malformed query, body or path variable with 400 and the specified id',
  async (t) => {
    const type = toRequestType(undefined)
    const parts = { variables: [], query: 'a=1', type, body: EMPTY, shape: undefined }
    const rejected = { code: 400, id: 'greeter' }
    t.throws(() => toRequestDocument({ ...parts, query: '%' }, 'greeter'), rejected)
    t.throws(() => toRequestDocument({ ...parts, body: Buffer.from('{') }, 'greeter'), rejected)
    t.throws(() => toRequestDocument({ ...parts, variables: ['a..b', '1'] }, 'greeter'), rejected)
  },
)
