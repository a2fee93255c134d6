import t from 'tap'
import { Type } from 'typebox'
import { compileSchema, protobufMessage, type StandardSchema } from '../../../sdk/schema/schema.ts'
import { SchemaError } from '../../../sdk/schema/schema-error.ts'

const Page = Type.Object({
  query: Type.String(),
  options: Type.Object(
    {
      limit: Type.Integer({ minimum: 1, maximum: 100, default: 10 }),
      tags: Type.Array(Type.String(), { default: [] }),
    },
    { default: {} },
  ),
  after: Type.Optional(Type.String()),
})

t.test('defaults are added, and unknown fields are retained', async (t) => {
  const { decode } = compileSchema(Page, 'request')
  t.strictSame(decode({ query: 'a', extra: 1 }), {
    query: 'a',
    options: { limit: 10, tags: [] },
    extra: 1,
  })
  const [first, second] = [decode({ query: 'a' }), decode({ query: 'a' })] as {
    options: { tags: string[] }
  }[]
  first!.options.tags.push('mine')
  t.strictSame(second!.options.tags, [], 'defaults are not shared')
  const labelled = compileSchema(
    Type.Object({ labels: Type.Record(Type.String(), Type.String(), { default: {} }) }),
    'request',
  )
  const [one, other] = [labelled.decode({}), labelled.decode({})] as {
    labels: Record<string, string>
  }[]
  one!.labels['a'] = 'mine'
  t.strictSame(other!.labels, {}, 'empty defaults are not shared')
})

t.test('additionalProperties: false rejects unknown fields', async (t) => {
  const { decode } = compileSchema(
    Type.Object({ a: Type.String() }, { additionalProperties: false }),
    'request',
  )
  t.throws(() => decode({ a: '', b: 1 }), { message: 'request.b is an unknown field' })
})

t.test('an integer is accepted as a string of digits', async (t) => {
  const { decode } = compileSchema(Page, 'request')
  t.match(decode({ query: 'a', options: { limit: '12', tags: [] } }), { options: { limit: 12 } })
  t.throws(() => decode({ query: 'a', options: { limit: 'x', tags: [] } }), {
    message: 'request.options.limit must be an integer, got "x"',
  })
  t.throws(() => decode({ query: 'a', options: { limit: '1000' } }), /limit must be <= 100/)
  t.throws(() => decode({ query: 5, options: { limit: '12' } }), /query must be a string/)
})

t.test('a codec can reject a valid value', async (t) => {
  const Day = Type.Codec(Type.String({ pattern: '^[0-9-]{10}$' }))
    .Decode((text) => {
      const day = new Date(text)
      if (Number.isNaN(day.getTime())) throw new RangeError('invalid date')
      return day
    })
    .Encode((day) => day.toISOString().slice(0, 10))
  const { decode, encode } = compileSchema(Type.Object({ day: Day }), 'request')
  t.strictSame(decode({ day: '2026-02-03' }), { day: new Date('2026-02-03') })
  t.strictSame(encode({ day: new Date('2026-02-03') }), { day: '2026-02-03' })
  t.throws(() => decode({ day: '2026-99-03' }), {
    message: 'request does not match its schema: a codec rejected a value',
    cause: { message: 'invalid date' },
  })
})

t.test(
  'a response is validated and completed with defaults, without changing the original',
  async (t) => {
    const { encode } = compileSchema(
      Type.Object({ name: Type.String(), size: Type.Optional(Type.Integer({ default: 0 })) }),
      'response',
    )
    const input = Object.freeze({ name: 'a' })
    t.strictSame(encode(input), { name: 'a', size: 0 })
    t.throws(() => encode({ name: 1 }), new SchemaError('response.name must be a string, got 1'))
    const plain = compileSchema(Type.Object({ name: Type.String() }), 'response')
    t.equal(plain.encode(input), input, 'returned without a copy if nothing changes')
  },
)

t.test('without a schema any value is accepted unchanged', async (t) => {
  const { decode, encode, jsonSchema } = compileSchema(undefined, 'request')
  const value = { a: [1] }
  t.equal(decode(value), value)
  t.equal(encode(value), value)
  t.equal(jsonSchema, undefined)
})

t.test('in the JSON Schema of a request, fields with a default are optional', async (t) => {
  t.strictSame(compileSchema(Page, 'request').jsonSchema, {
    type: 'object',
    required: ['query'],
    properties: {
      query: { type: 'string' },
      options: {
        type: 'object',
        properties: {
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
          tags: { type: 'array', items: { type: 'string' }, default: [] },
        },
        default: {},
      },
      after: { type: 'string' },
    },
  })
  t.strictSame(compileSchema(Page, 'response').jsonSchema?.['required' as never], [
    'query',
    'options',
  ])
})

/** A Standard Schema of objects with a string `name`, which it converts to upper case. */
function createNamed(extension: object = {}): StandardSchema<{ name: string }> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate(value) {
        const { name } = value as { name?: unknown }
        return typeof name === 'string'
          ? { value: { name: name.toUpperCase() } }
          : { issues: [{ message: 'no text', path: [{ key: 'name' }, 0] }, { message: 'other' }] }
      },
      ...extension,
    },
  }
}

t.test(
  'a Standard Schema provides the value of the handler, and its first issue the error',
  async (t) => {
    const { decode, encode } = compileSchema(createNamed(), 'request')
    t.strictSame(decode({ name: 'john' }), { name: 'JOHN' })
    t.strictSame(encode({ name: 'john' }), { name: 'JOHN' })
    t.throws(() => decode({}), new SchemaError('request.name[0]: no text'))
  },
)

t.test('a Standard Schema is described if its library can generate JSON Schema', async (t) => {
  const print = (type: string) => (options: { target: string }) => ({
    type,
    $comment: options.target,
  })
  const extension = { jsonSchema: { input: print('string'), output: print('number') } }
  const schema = createNamed(extension)
  t.strictSame(compileSchema(schema, 'request').jsonSchema, {
    type: 'string',
    $comment: 'draft-2020-12',
  })
  t.match(compileSchema(schema, 'response').jsonSchema, { type: 'number' })
  const convertible = { ...createNamed(), toJSONSchema: () => ({ type: 'object' }) }
  t.strictSame(compileSchema(convertible, 'request').jsonSchema, { type: 'object' })
  t.equal(compileSchema(createNamed(), 'request').jsonSchema, undefined)
  const cannot = createNamed({
    jsonSchema: {
      input() {
        throw new Error('a date')
      },
    },
  })
  t.equal(compileSchema(cannot, 'request').jsonSchema, undefined)
})

t.test('a schema may be a function', async (t) => {
  const schema = Object.assign(() => {}, createNamed())
  t.strictSame(compileSchema(schema, 'request').decode({ name: 'a' }), { name: 'A' })
})

t.test('a protobuf codec can be combined with a schema', async (t) => {
  const codec = { decode: () => ({ query: 'a' }), encode: () => new Uint8Array(0) }
  const message = compileSchema(protobufMessage(Page, codec), 'request')
  t.equal(message.protobuf, codec)
  t.match(message.decode({ query: 'a' }), { options: { limit: 10 } })
  t.equal(compileSchema(Page, 'request').protobuf, undefined)
})

t.test('an invalid schema is rejected immediately', async (t) => {
  for (const invalid of ['string', 5, null, String, {}, { name: Type.String() }])
    t.throws(() => compileSchema(invalid as never, 'request'), {
      message: /request must be a TypeBox type, .*, or a Standard Schema, got/,
    })
})
