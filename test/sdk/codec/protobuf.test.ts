import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import protobuf from 'protobufjs'
import t from 'tap'
import { Type } from 'typebox'
import { ROOT } from '../../../scripts/root.ts'
import { loadProto } from '../../../sdk/codec/protobuf.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { compileSchema, protobufMessage } from '../../../sdk/schema/schema.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { serve } from '../../fixtures/served-calls.ts'

const FILE = join(ROOT, 'test/fixtures/proto/helloworld.proto')
const PROTOBUF = 'content-type: application/protobuf\r\n'
const log = createServiceLog({ service: 'greeter', write: () => {} })

/** The message types of a peer. */
const peer = await new protobuf.Root().load(FILE)
const Request = peer.lookupType('helloworld.Request')
const Response = peer.lookupType('helloworld.Response')

t.test('a service with a .proto file is called with JSON and with protobuf', async (t) => {
  const proto = await loadProto(FILE)
  const call = endpoint({
    request: proto.message<{ name: string }>('helloworld.Request'),
    response: proto.message('helloworld.Response', Type.Object({ message: Type.String() })),
    handle: ({ name }) => ({ message: `Hello ${name}` }),
  })
  const dispatcher = createDispatcher({
    service: 'greeter',
    handlers: { Helloworld: { call } },
    log,
  })
  const text = await serve(dispatcher, 'Helloworld.Call', { body: { name: 'John' } })
  t.strictSame(text.replyJson, { message: 'Hello John' })
  const body = Request.encode({ name: 'John' }).finish()
  const binary = await serve(dispatcher, 'Helloworld.Call', { body, metadata: PROTOBUF })
  t.equal(binary.replyMetadata, PROTOBUF)
  t.strictSame(Response.toObject(Response.decode(binary.replyBody as Uint8Array)), {
    message: 'Hello John',
  })
  const empty = await serve(dispatcher, 'Helloworld.Call', { metadata: PROTOBUF })
  t.strictSame(
    Response.toObject(Response.decode(empty.replyBody as Uint8Array)),
    { message: 'Hello ' },
    'an empty body is a message of zero values',
  )
  t.strictSame((await serve(dispatcher, 'Helloworld.Call')).replyJson, { message: 'Hello ' })
  const [described] = dispatcher.describe()
  t.match(described!.request, { values: [{ name: 'name', type: 'string', values: [] }] })
})

t.test(
  'rejects a malformed message, or a message that does not match the schema, with 400',
  async (t) => {
    const proto = await loadProto(pathToFileURL(FILE))
    const Short = Type.Object({ name: Type.String({ maxLength: 4 }) })
    const call = endpoint({
      request: proto.message('helloworld.Request', Short),
      response: proto.message('helloworld.Response'),
      handle: ({ name }) => ({ message: name }),
    })
    const dispatcher = createDispatcher({
      service: 'greeter',
      handlers: { Helloworld: { call } },
      log,
    })
    const send = (body: Uint8Array) =>
      serve(dispatcher, 'Helloworld.Call', { body, metadata: PROTOBUF })
    for (const body of [Buffer.from([0x0a]), Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])]) {
      const { error } = await send(body)
      t.equal(error?.code, 400)
      t.match(error?.message, /^request body must be the protobuf message/)
    }
    const long = await send(Request.encode({ name: 'Johnny' }).finish())
    t.match(long.error?.toBody(), { Code: 400, Detail: /^request\.name must not have more than 4/ })
  },
)

t.test('a stream can use protobuf', async (t) => {
  const proto = await loadProto(FILE)
  const echo = endpoint({
    request: proto.message<{ name: string }>('helloworld.Request'),
    response: proto.message('helloworld.Response'),
    stream: 'both',
    async *handle(requests) {
      for await (const { name } of requests) yield { message: name }
    },
  })
  const dispatcher = createDispatcher({
    service: 'greeter',
    handlers: { Helloworld: { echo } },
    log,
  })
  const body = Request.encode({ name: 'John' }).finish()
  const parts = { body, metadata: PROTOBUF, stream: true }
  const { bodies } = await serve(dispatcher, 'Helloworld.Echo', parts)
  t.equal(bodies.length, 1)
  t.strictSame(Response.toObject(Response.decode(bodies[0] as Uint8Array)), { message: 'John' })
})

t.test('generated code can encode and decode messages', async (t) => {
  const Name = Type.Object({ name: Type.String() })
  const message = protobufMessage(Name, {
    decode: (bytes) => Request.toObject(Request.decode(bytes)),
    encode: (value) => Request.encode(Request.fromObject(value as object)).finish(),
  })
  const call = endpoint({ request: message, response: message, handle: (request) => request })
  const dispatcher = createDispatcher({
    service: 'greeter',
    handlers: { Helloworld: { call } },
    log,
  })
  const body = Buffer.from(Request.encode({ name: 'John' }).finish())
  const { replyBody } = await serve(dispatcher, 'Helloworld.Call', { body, metadata: PROTOBUF })
  t.ok(body.equals(replyBody as Uint8Array))
})

t.test('a message is found only by its full name', async (t) => {
  const proto = await loadProto([FILE])
  for (const name of ['Request', '.helloworld.Request', 'helloworld.Nope', 'helloworld', ''])
    t.throws(() => proto.message(name), { name: 'TypeError', message: /^there is no message/ })
})

t.test('a missing or invalid .proto file is rejected', async (t) => {
  const none = join(t.testdir({}), 'none.proto')
  await t.rejects(loadProto(none), { message: /^cannot read .*none\.proto: ENOENT/ })
  const dir = t.testdir({ 'bad.proto': 'syntax = "proto3"; message {' })
  await t.rejects(loadProto(join(dir, 'bad.proto')), /cannot read .*bad\.proto: illegal/)
})

t.test('without a schema, types and defaults come from the message', async (t) => {
  const proto = await loadProto(join(ROOT, 'test/fixtures/proto/kinds.proto'))
  const { decode } = compileSchema(proto.message('kinds.Options'), 'request')
  t.strictSame(decode({ deep: true }), { limit: 0, deep: true })
  t.throws(() => decode({ limit: 2 ** 31 }), /^request\.limit must be <= 2147483647/)
})
