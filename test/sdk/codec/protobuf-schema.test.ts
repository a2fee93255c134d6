import { join } from 'node:path'
import protobuf from 'protobufjs'
import t from 'tap'
import { ROOT } from '../../../scripts/root.ts'
import { toMessageSchema } from '../../../sdk/codec/protobuf-schema.ts'
import { toValue } from '../../../sdk/schema/describe-message.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'

const root = await new protobuf.Root().load(join(ROOT, 'test/fixtures/proto/kinds.proto'), {
  keepCase: true,
})
root.resolveAll()
const compiled = (name: string, kind: 'request' | 'response' = 'request') =>
  compileSchema(toMessageSchema(root.lookupType(name)), kind)

t.test('handlers receive bigints, bytes and zero values', async (t) => {
  t.match(compiled('kinds.Kinds').decode({ id: '5', data: 'AQ==', totals: { a: 1 } }), {
    name: '',
    id: 5n,
    size: 0n,
    data: Buffer.from([1]),
    colour: 'NONE',
    flag: false,
    totals: { a: 1n },
    tags: [],
    nickname: undefined,
  })
})

t.test('responses may omit zero values, but callers receive them', async (t) => {
  t.strictSame(compiled('kinds.Options', 'response').encode({ limit: 1 }), {
    limit: 1,
    deep: false,
  })
})

t.test('a value that the message cannot represent is rejected', async (t) => {
  const { decode } = compiled('kinds.Kinds')
  for (const invalid of [
    { small: 2 ** 31 },
    { count: -1 },
    { colour: 'GREEN' },
    { id: '9223372036854775808' },
    { data: '*' },
    { created_at: 'yesterday' },
    { tree: { kids: [{ name: 5 }] } },
    { by_id: { x: 'no integer' } },
    { by_flag: { maybe: 'no boolean' } },
  ])
    t.throws(() => decode(invalid), /^request\./, JSON.stringify(invalid))
})

t.test('recursive messages are supported', async (t) => {
  const { decode, jsonSchema } = compiled('trees.Tree')
  t.strictSame(decode({ kids: [{ name: 'kid' }] }), { name: '', kids: [{ name: 'kid', kids: [] }] })
  t.match(toValue('Tree', jsonSchema), {
    values: [
      { name: 'name', type: 'string' },
      { name: 'kids', type: '[]Tree', values: [{ name: 'name' }, { name: 'kids' }] },
    ],
  })
})

t.test('the registry entry contains the protobuf types', async (t) => {
  const { values } = toValue('Kinds', compiled('kinds.Kinds').jsonSchema)
  const types = Object.fromEntries(values.map(({ name, type }) => [name, type]))
  t.match(types, {
    name: 'string',
    id: 'int64',
    size: 'uint64',
    small: 'int32',
    count: 'uint32',
    ratio: 'double',
    share: 'float',
    flag: 'bool',
    data: 'bytes',
    colour: 'string',
    tags: '[]string',
    ids: '[]int64',
    totals: 'map[string]int64',
    options: 'Options',
    nickname: 'string',
    created_at: 'string',
    limit: 'int64',
    tree: 'Tree',
    more: '[]Options',
    named: 'map[string]Options',
    by_id: 'map[string]string',
  })
})
