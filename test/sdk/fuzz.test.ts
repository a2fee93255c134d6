import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { ROOT } from '../../scripts/root.ts'
import { loadProto } from '../../sdk/codec/protobuf.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { Bytes, Int64 } from '../../sdk/schema/schema-types.ts'
import { createDispatcher } from '../../sdk/service/dispatch.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'
import { startCall } from '../fixtures/served-calls.ts'

const Everything = Type.Object({
  id: Type.Optional(Int64()),
  data: Type.Optional(Bytes()),
  size: Type.Integer({ default: 1 }),
  words: Type.Array(Type.String(), { default: [] }),
  totals: Type.Optional(Type.Record(Type.String(), Int64())),
  pair: Type.Optional(Type.Tuple([Type.String(), Int64()])),
  shape: Type.Optional(
    Type.Union([
      Type.Object({ kind: Type.Literal('circle'), radius: Type.Number({ default: 1 }) }),
      Type.Object({ kind: Type.Literal('square'), side: Int64() }),
      Type.Null(),
    ]),
  ),
  tree: Type.Optional(
    Type.Cyclic(
      { Node: Type.Object({ id: Int64(), kids: Type.Array(Type.Ref('Node'), { default: [] }) }) },
      'Node',
    ),
  ),
})
const proto = await loadProto(join(ROOT, 'test/fixtures/proto/kinds.proto'))
const Kinds = proto.message('kinds.Kinds')
const lines: string[] = []
const dispatcher = createDispatcher({
  service: 'greeter',
  log: createServiceLog({ service: 'greeter', write: (line) => void lines.push(line) }),
  handlers: {
    A: {
      json: endpoint({ request: Everything, response: Everything, handle: (request) => request }),
      protobuf: endpoint({ request: Kinds, response: Kinds, handle: (request) => request }),
    },
  },
})

/** Fields of the schema with plausible values, and prototype names. */
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.integer(),
  fc.bigInt().map(String),
  fc.base64String(),
  fc.record({ kind: fc.constantFrom('circle', 'square', 'x'), side: fc.jsonValue() }),
  fc.record({ id: fc.integer(), kids: fc.array(fc.record({ id: fc.jsonValue() })) }),
  fc.tuple(fc.string(), fc.integer()),
)
const names = [...Object.keys(Everything.properties), '__proto__', 'constructor', 'toString']
const request = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 })

t.test('any JSON request returns a response or 400, never 500', async (t) => {
  let served = 0
  fc.assert(
    fc.property(fc.oneof(request, fc.jsonValue()), (body) => {
      const { replyJson: answer, error } = startCall(dispatcher, 'A.Json', {
        body: JSON.stringify(body),
      })
      if (error === undefined) served++
      return error === undefined ? answer !== undefined : error.code === 400
    }),
    { numRuns: scaleRuns(3000) },
  )
  t.ok(served > 100, `${served} requests had a response`)
  t.strictSame(lines, [])
})

t.test('a response that is sent as a request returns the same response', async (t) => {
  fc.assert(
    fc.property(request, (body) => {
      const first = startCall(dispatcher, 'A.Json', { body: JSON.stringify(body) })
      if (first.error !== undefined) return true
      const repeated = startCall(dispatcher, 'A.Json', { body: String(first.replyBody) })
      return repeated.replyBody === first.replyBody
    }),
    { numRuns: scaleRuns(2000) },
  )
  t.strictSame(lines, [])
})

t.test('any protobuf request returns a response or 400', async (t) => {
  const metadata = 'content-type: application/protobuf\r\n'
  const field = fc
    .tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 5 }), fc.uint8Array())
    .map(([id, wire, rest]) => {
      const tag = (id << 3) | wire
      return [...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), ...rest.slice(0, 12)]
    })
  fc.assert(
    fc.property(fc.array(field, { maxLength: 5 }), (fields) => {
      const body = Buffer.from(fields.flat())
      const { error } = startCall(dispatcher, 'A.Protobuf', { body, metadata })
      return error === undefined || error.code === 400
    }),
    { numRuns: scaleRuns(3000) },
  )
  t.strictSame(lines, [])
})
