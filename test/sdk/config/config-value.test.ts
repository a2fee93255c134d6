import t from 'tap'
import { Type } from '../../../core/schema.ts'
import { toConfigValue } from '../../../sdk/config/config-value.ts'
import { badRequest } from '../../../sdk/errors.ts'
import type { StandardSchema } from '../../../sdk/schema/schema.ts'
import { Int64 } from '../../../sdk/schema/schema-types.ts'

const toValue = (json: unknown) => toConfigValue({ path: 'a.b', data: JSON.stringify(json) })
const missing = toConfigValue({ path: 'a.b' })
const failed = toConfigValue({ path: 'a.b', error: badRequest('config', 'no') })

/** Checks the values that an accessor converts, and that it returns the fallback for unusable values. */
function check<T>(
  title: string,
  read: (value: ReturnType<typeof toValue>) => T,
  fallback: T,
  conversions: readonly (readonly [unknown, T])[],
  unusable: readonly unknown[],
): void {
  t.test(title, async (t) => {
    for (const [json, expected] of conversions)
      t.strictSame(read(toValue(json)), expected, JSON.stringify(json))
    for (const json of unusable) t.equal(read(toValue(json)), fallback, JSON.stringify(json))
    t.equal(read(missing), fallback)
    t.equal(read(failed), fallback)
  })
}

check(
  'string() converts text, numbers and booleans',
  (value) => value.string('fallback'),
  'fallback',
  [
    ['x', 'x'],
    ['', ''],
    [5, '5'],
    [1.5, '1.5'],
    [true, 'true'],
    ['[secret]', '[secret]'],
  ],
  [null, {}, [], ['x']],
)

check(
  'int() converts numbers and numeric text, without the fraction',
  (value) => value.int(7),
  7,
  [
    [5, 5],
    [-5, -5],
    [5.9, 5],
    [-0.5, 0],
    ['42', 42],
    [' +42 ', 42],
    ['-1.9', -1],
    ['1e3', 1000],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ],
  [null, true, {}, [], '', ' ', 'x', '5x', '0x10', '[secret]', 1e300, '9007199254740993', '1e999'],
)

check(
  'float64() converts numbers and numeric text',
  (value) => value.float64(7),
  7,
  [
    [5.5, 5.5],
    ['5.5', 5.5],
    ['.5', 0.5],
    ['-1e-3', -0.001],
    [1e300, 1e300],
  ],
  [null, true, {}, [], '', 'x', 'NaN', 'Infinity', '1e999', '1,5'],
)

check(
  'bool() converts booleans and their text and number forms',
  (value) => value.bool(true),
  true,
  [
    [false, false],
    [true, true],
    ['false', false],
    ['F', false],
    [' 0 ', false],
    [0, false],
    ['TRUE', true],
    ['t', true],
    [1, true],
  ],
  [null, {}, [], '', 'yes', 'off', 2, '[secret]'],
)

check(
  'duration() converts Go durations and numbers to milliseconds',
  (value) => value.duration(7),
  7,
  [
    ['1h30m', 5_400_000],
    [' 300ms ', 300],
    ['0', 0],
    [250, 250],
    [1.5, 1.5],
  ],
  [null, true, {}, [], '', 'soon', '250'],
)

const TEXTS = ['x']
check(
  'stringSlice() converts lists and comma-separated text',
  (value) => value.stringSlice(TEXTS),
  TEXTS,
  [
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a', 1, true],
      ['a', '1', 'true'],
    ],
    [[], []],
    ['a,b', ['a', 'b']],
    ['a , b', ['a', 'b']],
    ['a', ['a']],
    ['', []],
    [5, ['5']],
  ],
  [null, {}, [['a']], [null], [{}]],
)

const MAP: Readonly<Record<string, string>> = { x: 'y' }
check(
  'stringMap() converts objects, with other values as JSON',
  (value) => value.stringMap(MAP),
  MAP,
  [
    [
      { a: 'b', c: 1, d: true, e: null, f: [1], g: { h: 2 } },
      { a: 'b', c: '1', d: 'true', e: 'null', f: '[1]', g: '{"h":2}' },
    ],
    [{}, {}],
  ],
  [null, 'a', 5, ['a']],
)

const BYTES = Buffer.from('x')
check(
  'bytes() returns text as UTF-8, other values as JSON',
  (value) => value.bytes(BYTES) as Buffer,
  BYTES,
  [
    ['é', Buffer.from('é')],
    [5, Buffer.from('5')],
    [{ a: [1] }, Buffer.from('{"a":[1]}')],
    [null, Buffer.from('null')],
  ],
  [],
)

t.test('scan rejects an integer that would be rounded, with its digits', async (t) => {
  const value = toConfigValue({ path: 'app.ids', data: '{"first":9007199254740993}' })
  await t.rejects(value.scan(Type.Object({ first: Type.Integer() })), {
    name: 'SchemaError',
    message: /^app.ids.first must be an integer from .*, got 9007199254740993$/,
  })
  t.same(await value.scan(Type.Object({ first: Int64() })), { first: 9007199254740993n })
})

t.test('without a fallback, accessors return zero values', async (t) => {
  for (const value of [missing, failed]) {
    t.equal(value.string(), '')
    t.equal(value.int(), 0)
    t.equal(value.float64(), 0)
    t.equal(value.bool(), false)
    t.equal(value.duration(), 0)
    t.strictSame(value.stringSlice(), [])
    t.strictSame(value.stringMap(), {})
    t.equal(value.bytes().length, 0)
    t.equal(value.json(), undefined)
  }
})

t.test(
  'exists() is true for any value including null, and false for missing and failed values',
  async (t) => {
    t.ok(toValue(5).exists())
    t.ok(toValue(null).exists())
    t.notOk(missing.exists())
    t.notOk(failed.exists())
    t.strictSame(toValue({ a: [1] }).json(), { a: [1] })
    t.equal(toValue(5).error, undefined)
    t.equal(missing.error, undefined)
    t.match(failed.error, { code: 400, message: 'no' })
    t.equal(toValue(5).path, 'a.b')
  },
)

const Database = Type.Object({
  host: Type.String({ default: 'localhost' }),
  port: Type.Integer(),
  tags: Type.Optional(Type.Array(Type.String())),
})

t.test('scan returns the value with defaults of the schema', async (t) => {
  const value = toValue({ port: 5432 })
  t.strictSame(await value.scan(Database), { host: 'localhost', port: 5432 })
  t.strictSame(value.json(), { port: 5432 }, 'the value is unchanged')
  t.equal(await toValue(5).scan(Type.Number()), 5)
})

t.test('scan fails with the path of the first invalid field', async (t) => {
  for (const [json, message] of [
    [{ port: 'x' }, 'a.b.port must be an integer, got "x"'],
    [{}, 'a.b.port is missing'],
    [{ port: 1, tags: ['a', 5] }, 'a.b.tags[1] must be a string, got 5'],
    [5, 'a.b must be an object, got 5'],
  ] as const)
    await t.rejects(toValue(json).scan(Database), { name: 'SchemaError', message })
  await t.rejects(toConfigValue({ path: '', data: '5' }).scan(Database), {
    message: 'config must be an object, got 5',
  })
})

t.test(
  'scan of a missing value fails with 404, and scan of a failed value with its error',
  async (t) => {
    await t.rejects(missing.scan(Database), { code: 404, message: 'not found: a.b' })
    await t.rejects(failed.scan(Database), { code: 400, message: 'no' })
  },
)

t.test('scan accepts Standard Schemas', async (t) => {
  const schema: StandardSchema<unknown, number> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) =>
        typeof value === 'number'
          ? { value: value * 2 }
          : { issues: [{ message: 'no number', path: ['x', 0] }] },
    },
  }
  t.equal(await toValue(5).scan(schema), 10)
  await t.rejects(toValue('x').scan(schema), { message: 'a.b.x[0]: no number' })
  await t.rejects(toValue('x').scan({} as never), { name: 'TypeError' })
})
