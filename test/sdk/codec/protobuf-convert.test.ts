import { join } from 'node:path'
import protobuf from 'protobufjs'
import protojson from 'protobufjs/ext/protojson.js'
import t from 'tap'
import { ROOT } from '../../../scripts/root.ts'
import {
  compileReader,
  compileWriter,
  type WellKnownJson,
} from '../../../sdk/codec/protobuf-convert.ts'

const root = await new protobuf.Root().load(join(ROOT, 'test/fixtures/proto/kinds.proto'), {
  keepCase: true,
})
root.resolveAll()
const Kinds = root.lookupType('kinds.Kinds')
const read = compileReader(Kinds, protojson as WellKnownJson)
const write = compileWriter(Kinds, protojson as WellKnownJson)
const decode = (bytes: Uint8Array): unknown => read(Kinds.decode(bytes))
const encode = (value: unknown): Uint8Array => Kinds.encode(write(value) as object).finish()

const FULL = {
  name: 'John',
  id: '9007199254740993',
  size: '18446744073709551615',
  small: -5,
  count: 4294967295,
  ratio: 0.1,
  share: 0.5,
  flag: true,
  data: 'AAEC',
  colour: 'BLUE',
  tags: ['a', 'b'],
  ids: [1, -2, '-9223372036854775808', Number.MAX_SAFE_INTEGER],
  totals: { a: 1, b: '9223372036854775807' },
  options: { limit: 10, deep: true },
  nickname: '',
  mail: 'john@example.com',
  created_at: '2026-01-02T03:04:05Z',
  limit: '7',
  tree: { name: 'root', kids: [{ name: 'kid', kids: [] }] },
  more: [{ limit: 1, deep: false }],
  named: { x: { limit: 2, deep: false } },
  delta: -3,
  palette: ['RED', 'NONE'],
  by_id: { '0': 'zero', '12345678': 'eight digits', '-9223372036854775808': 'least' },
  by_size: { '18446744073709551615': 'most' },
  by_delta: { '-3': { limit: 3, deep: false } },
  by_small: { '-5': 'small' },
  by_flag: { true: 'yes', false: 'no' },
}

t.test('every kind of field round-trips', async (t) => {
  t.strictSame(decode(encode(FULL)), FULL)
})

t.test('the encoding equals the encoding of the protobuf library', async (t) => {
  const encodedText = Kinds.encode(protojson.fromJson(Kinds, FULL)).finish()
  t.ok(Buffer.from(encodedText).equals(encode(FULL)))
})

t.test('fields without presence decode to zero values, and other fields are absent', async (t) => {
  const empty = {
    name: '',
    id: 0,
    size: 0,
    small: 0,
    count: 0,
    ratio: 0,
    share: 0,
    flag: false,
    data: '',
    colour: 'NONE',
    tags: [],
    ids: [],
    totals: {},
    more: [],
    named: {},
    delta: 0,
    palette: [],
    by_id: {},
    by_size: {},
    by_delta: {},
    by_small: {},
    by_flag: {},
  }
  t.strictSame(decode(new Uint8Array(0)), empty)
  t.equal(encode({}).length, 0)
  t.equal(encode({ name: undefined, options: null, extra: 1 }).length, 0)
})

t.test('bigints and bytes can be encoded directly', async (t) => {
  const bytes = encode({
    id: -(2n ** 63n),
    size: 2n ** 64n - 1n,
    data: new Uint8Array([1]),
    delta: 5n,
  })
  t.match(decode(bytes), {
    id: '-9223372036854775808',
    size: '18446744073709551615',
    data: 'AQ==',
    delta: 5,
  })
})

t.test('an unknown enum value is decoded as its number', async (t) => {
  t.match(decode(encode({ colour: 7 })), { colour: 7 })
})

t.test('a value that does not fit its field is rejected, not truncated', async (t) => {
  for (const [value, field] of [
    [{ small: 2 ** 31 }, 'small'],
    [{ small: 1.5 }, 'small'],
    [{ count: -1 }, 'count'],
    [{ id: 2n ** 63n }, 'id'],
    [{ id: 'x' }, 'id'],
    [{ id: 2 ** 53 }, 'id'],
    [{ size: -1 }, 'size'],
    [{ ids: 5 }, 'ids'],
    [{ name: 5 }, 'name'],
    [{ flag: 'true' }, 'flag'],
    [{ ratio: '1' }, 'ratio'],
    [{ data: 5 }, 'data'],
    [{ colour: 'GREEN' }, 'colour'],
    [{ colour: 'toString' }, 'colour'],
    [{ options: 5 }, 'Options'],
    [{ by_id: { x: '' } }, 'by_id'],
    [{ by_id: { '9223372036854775808': '' } }, 'by_id'],
    [{ by_size: { '-1': '' } }, 'by_size'],
    [{ by_small: { '2147483648': '' } }, 'by_small'],
    [{ by_flag: { '1': '' } }, 'by_flag'],
  ] as const) {
    t.throws(() => encode(value), { name: 'TypeError', message: new RegExp(`^${field} must be`) })
  }
  t.throws(() => encode('text'), /^Kinds must be an object/)
})

t.test('a map entry without a key has the zero value as key', async (t) => {
  // Field 25 with an entry that has only a value.
  const bytes = Buffer.from('ca0103120161', 'hex')
  t.match(decode(bytes), { by_id: { '0': 'a' } })
})

t.test('a map key __proto__ is rejected', async (t) => {
  const hostile = Kinds.encode({ totals: JSON.parse('{"__proto__":1}') }).finish()
  t.throws(() => decode(hostile), /must not contain __proto__/)
})

t.test('nesting depth is limited', async (t) => {
  const Tree = root.lookupType('trees.Tree')
  let bytes = Tree.encode({ name: 'leaf' }).finish()
  for (let depth = 0; depth < 1000; depth++) {
    const size = protobuf.Writer.create().uint32(bytes.length).finish()
    bytes = Buffer.concat([Buffer.from([0x12]), size, bytes])
  }
  t.throws(() => Tree.decode(bytes), /depth/)
})
