import t from 'tap'
import { Type } from 'typebox'
import { protobufMessage } from '../../../sdk/schema/schema.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { ServedEndpoint } from '../../../sdk/service/served-endpoint.ts'

const Name = Type.Object({ name: Type.String() })
/** A codec that marks its use. */
const codec = {
  decode: (bytes: Uint8Array) => ({ name: `pb ${Buffer.from(bytes).toString()}` }),
  encode: (value: unknown) => Buffer.from(`pb ${JSON.stringify(value)}`),
}
const plain = new ServedEndpoint(
  'greeter',
  'A.B',
  endpoint({ request: Name, response: Name, handle: (request) => request }),
)
const both = new ServedEndpoint(
  'greeter',
  'A.B',
  endpoint({
    request: protobufMessage(Name, codec),
    response: protobufMessage(Name, codec),
    handle: (request) => request,
  }),
)

t.test(
  'protobuf content types are accepted only by endpoints with protobuf messages',
  async (t) => {
    const protobuf = [
      'application/protobuf',
      'application/proto',
      'application/grpc',
      'application/octet-stream',
    ]
    for (const type of protobuf) {
      t.equal(both.isProtobuf(type), true, type)
      t.throws(() => plain.isProtobuf(type), {
        code: 415,
        id: 'greeter',
        headers: ['accept', 'application/json'],
      })
    }
    for (const type of [undefined, 'application/json', 'Application/JSON; charset=UTF-8']) {
      t.equal(both.isProtobuf(type), false)
      t.equal(plain.isProtobuf(type), false)
    }
    t.throws(() => plain.isProtobuf('application/x-www-form-urlencoded'), {
      code: 415,
      message:
        'A.B accepts application/json, got "application/x-www-form-urlencoded"; for JSON, add -H \'content-type: application/json\'',
    })
    t.throws(() => both.isProtobuf('multipart/form-data; boundary=a'), {
      code: 415,
      headers: ['accept', 'application/json, application/protobuf'],
    })
    for (const type of ['text/html', 'application/json; charset=latin1', 'json', 'x/y;;;']) {
      t.throws(
        () => plain.isProtobuf(type),
        {
          code: 415,
          message: /^A\.B accepts application\/json, got "/,
          headers: ['accept', 'application/json'],
        },
        `${type}: only the types of this endpoint are listed`,
      )
      t.throws(() => both.isProtobuf(type), {
        code: 415,
        headers: ['accept', 'application/json, application/protobuf'],
      })
    }
  },
)

t.test('JSON and protobuf requests reach the handler in the same form', async (t) => {
  t.strictSame(both.decode('{"name":"John"}', false), { name: 'John' })
  t.strictSame(both.decode(Buffer.from('John'), true), { name: 'pb John' })
  t.equal(both.encode({ name: 'John' }, false), '{"name":"John"}')
  t.equal(String(both.encode({ name: 'John' }, true)), 'pb {"name":"John"}')
  t.throws(() => both.encode({ name: 5 }, true), /response\.name must be a string/)
})

t.test('an endpoint with only one protobuf message is rejected', async (t) => {
  const half = endpoint({ request: protobufMessage(Name, codec), response: Name, handle: (r) => r })
  t.throws(() => new ServedEndpoint('greeter', 'A.B', half), {
    message: 'A.B: request and response must both be protobuf messages, or neither',
  })
})
