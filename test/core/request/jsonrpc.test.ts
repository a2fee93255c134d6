import t from 'tap'
import { unwrapEnvelope } from '../../../core/request/jsonrpc.ts'
import { toRequestType } from '../../../core/request/media-type.ts'

function open(type: string, body: string | Uint8Array): string {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return Buffer.from(unwrapEnvelope(toRequestType(type), bytes, 'greeter')).toString('latin1')
}

/** Two messages framed as `application/proto-rpc`. */
function frameMessages(header: string, message: string): Buffer {
  return Buffer.concat(
    [header, message].flatMap((text) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(text.length)
      return [length, Buffer.from(text)]
    }),
  )
}

t.test('json-rpc: the only item of params is the request, byte for byte', async (t) => {
  for (const [body, request] of [
    ['{"id":1,"method":"Greeter.Hello","params":[{"name":"a"}]}', '{"name":"a"}'],
    [' {\n"params" : [ {"n":9007199254740993, "f": 1.0} ] } ', '{"n":9007199254740993, "f": 1.0}'],
    ['{"jsonrpc":"2.0","params":{"name":"a]"},"id":null}', '{"name":"a]"}'],
    ['{"params":[{"a":[1,2],"b":"]}"}]}', '{"a":[1,2],"b":"]}"}'],
    ['{"par\\u0061ms":[{}]}', '{}'],
  ] as const)
    t.equal(open('application/json-rpc; charset=utf-8', body), request)
})

t.test('json-rpc: rejects a body that is not an envelope with one request with 400', async (t) => {
  for (const body of [
    '{"name":"a"}',
    '{"params":[]}',
    '{"params":[{},{}]}',
    '{"params":[1]}',
    '{"params":["{}"]}',
    '{"params":null}',
    '{"params":"{}"}',
    '[{"params":[{}]}]',
    '[]',
    '1',
  ])
    t.throws(
      () => open('application/json-rpc', body),
      { code: 400, id: 'greeter', message: /application\/json-rpc must be \{"id"/ },
      body,
    )
  for (const body of ['{"params":[{}]', '{"params":[{"__proto__":1}]}', '{}{}'])
    t.throws(() => open('application/json-rpc', body), { code: 400, id: 'greeter' }, body)
})

t.test('proto-rpc: the second of two length-prefixed messages is the request', async (t) => {
  for (const type of ['application/proto-rpc', 'application/octet-stream']) {
    t.equal(open(type, frameMessages('\n\x01a', '\n\x03abc')), '\n\x03abc', type)
    t.equal(open(type, frameMessages('', '')), '', 'an empty message')
    const complete = frameMessages('\n\x01a', '\n\x03abc')
    for (let length = 1; length < complete.length; length++)
      t.throws(
        () => open(type, complete.subarray(0, length)),
        { code: 400 },
        `truncated to ${length} bytes`,
      )
    const more = Buffer.concat([complete, Buffer.alloc(1)])
    t.throws(() => open(type, more), { code: 400, message: /two messages/ })
    t.throws(() => open(type, Buffer.from([0, 255, 255, 255])), { code: 400 })
    t.throws(() => open(type, Buffer.alloc(3)), { code: 400 })
  }
  t.throws(() => open('application/proto-rpc', '\n\x03abc'), {
    code: 400,
    id: 'greeter',
    message: /application\/proto-rpc must be two messages/,
  })
  t.equal(open('application/octet-stream', '\n\x03abc'), '\n\x03abc', 'a message without envelope')
})

t.test('grpc: a plain message passes, and gRPC frames are rejected with 415', async (t) => {
  const grpc = ['application/grpc', 'application/grpc+proto', 'application/grpc+json']
  for (const type of grpc) {
    t.equal(open(type, '{"name":"a"}'), '{"name":"a"}')
    for (const compressed of ['\0', '\x01'])
      t.throws(() => open(type, `${compressed}\0\0\0\x02{}`), {
        code: 415,
        id: 'greeter',
        message: /HTTP\/2.* application\/json or application\/protobuf/,
        headers: ['accept', 'application/json, application/protobuf'],
      })
  }
})

t.test('bodies of other content types pass unchanged', async (t) => {
  const body = Buffer.from('{"params":[{}]}')
  for (const type of ['application/json', 'application/protobuf', 'application/proto'])
    t.equal(unwrapEnvelope(toRequestType(type), body), body)
})
