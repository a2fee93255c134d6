import t from 'tap'
import type { Message } from '../../../core/contracts/broker.ts'
import { Type } from '../../../core/schema.ts'
import { createMessageHandler, encodeMessage } from '../../../sdk/broker/message.ts'
import { type Context, createContext, metadata } from '../../../sdk/context.ts'

const getText = ({ body }: Message): string => Buffer.from(body).toString()
const getType = ({ headers }: Message): string | undefined => headers['content-type']

t.test('publishing encodes the message and sets the content-type header', async (t) => {
  for (const value of [{ a: [1] }, 'text', 5, true, null, []]) {
    const message = encodeMessage(value, {})
    t.equal(getType(message), 'application/json')
    t.same(JSON.parse(getText(message)), value)
  }
  const bytes = encodeMessage(Buffer.from('x'), {})
  t.same([getType(bytes), getText(bytes)], ['application/octet-stream', 'x'])
  const raw = encodeMessage(new Uint8Array([120]).buffer, {})
  t.same([getType(raw), getText(raw)], ['application/octet-stream', 'x'])
  const png = encodeMessage(Buffer.from('x'), { headers: { 'Content-Type': 'image/png' } })
  t.same([getType(png), getText(png)], ['image/png', 'x'])
  const text = encodeMessage('ä', { headers: { 'content-type': 'text/plain' } })
  t.same([getType(text), getText(text)], ['text/plain', 'ä'])
  const event = encodeMessage({}, { headers: { 'content-type': 'application/cloudevents+json' } })
  t.same([getType(event), getText(event)], ['application/cloudevents+json', '{}'])
})

t.test('a subscriber that is not a function is rejected', async (t) => {
  for (const [subscriber, kind] of [
    [undefined, 'undefined'],
    [{}, 'object'],
  ] as const)
    t.throws(() => createMessageHandler('ok', subscriber as never, undefined, { service: '' }), {
      name: 'TypeError',
      message: `the subscriber of ok must be a function, got ${kind}`,
    })
})

t.test('a message with an integer that would be rounded is rejected', async (t) => {
  const handle = createMessageHandler('ids', () => void t.fail('delivered'), Type.Integer(), {
    service: '',
  })
  await t.rejects(handle({ headers: {}, body: Buffer.from('9007199254740993') }), {
    name: 'SchemaError',
    message:
      'message must be an integer from -9007199254740991 to 9007199254740991, got 9007199254740993',
  })
})

t.test('a message that is not JSON or bytes, or a reserved header, is rejected', async (t) => {
  t.throws(() => encodeMessage({ count: 5n }, {}), {
    message: 'message must be bytes or a JSON value: it contains a bigint: send it as a string',
  })
  for (const value of [undefined, () => {}, Symbol('x')])
    t.throws(() => encodeMessage(value, {}), {
      name: 'TypeError',
      message: /^message must be bytes or a JSON value, got/,
    })
  t.throws(() => encodeMessage({}, { headers: { 'content-type': 'text/plain' } }), {
    message: 'message must be bytes or text if its content type is text/plain, got object',
  })
  t.throws(() => encodeMessage({}, { headers: { 'Mx-Account': '{}' } }), {
    message: 'header mx-account is reserved for the platform and cannot be set',
  })
})

t.test('context metadata becomes headers, except credentials', async (t) => {
  const context = createContext({
    metadata: {
      'x-tenant': 'acme',
      'x-request-id': 'r1',
      'mx-namespace': 'go.mx.api',
      'content-type': 'application/protobuf',
      accept: 'text/html',
      authorization: 'Bearer t',
      cookie: 'a=b',
      'mx-account': '{"id":"ann"}',
      te: 'trailers',
    },
  })
  const { headers } = encodeMessage({}, { context, headers: { 'X-Tenant': 'own', 'x-b': '1' } })
  t.strictSame(Object.fromEntries(Object.entries(headers)), {
    'x-tenant': 'own',
    'x-request-id': 'r1',
    'mx-namespace': 'go.mx.api',
    'x-b': '1',
    'content-type': 'application/json',
  })
  const fresh = createContext()
  t.equal(encodeMessage({}, { context: fresh }).headers['x-request-id'], fresh.id)
})

t.test('a handler receives the decoded body and a context with the headers', async (t) => {
  const received: [unknown, Context][] = []
  const handle = createMessageHandler(
    'orders',
    (message, ctx) => void received.push([message, ctx]),
    Type.Object({ id: Type.Integer() }),
    { service: 'billing' },
  )
  await handle(encodeMessage({ id: 5 }, { headers: { 'x-tenant': 'acme' } }))
  await t.rejects(handle(encodeMessage({ id: 'x' }, {})), { message: /message\.id/ })
  const forged = { ...encodeMessage({ id: 6 }, {}).headers, 'mx-account': '{"id":"admin"}' }
  await handle({ headers: forged, body: Buffer.from('{"id":6}') })
  t.same(
    received.map(([message]) => message),
    [{ id: 5 }, { id: 6 }],
  )
  const [, ctx] = received[0]!
  t.same([ctx.service, ctx.endpoint], ['billing', 'orders'])
  t.same(metadata.get(ctx, 'X-Tenant'), ['acme', true])
  t.equal(received[1]![1].account, undefined, 'the publisher is not authenticated')
})

t.test('an invalid schema is rejected immediately', async (t) => {
  const invalid = { type: 'string' } as never
  t.throws(() => createMessageHandler('a', () => {}, invalid, { service: 'a' }), {
    name: 'TypeError',
    message: /^message must be a TypeBox type/,
  })
})
