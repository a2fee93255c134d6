import t from 'tap'
import { type TSchema, Type } from 'typebox'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import { formatKeyPath, SchemaError } from '../../../sdk/schema/schema-error.ts'

/** Error message for a caller. */
function getMessage(schema: TSchema, value: unknown): string {
  try {
    void compileSchema(schema, 'request').decode(value)
  } catch (error) {
    if (error instanceof SchemaError) return error.message
    throw error
  }
  return 'nothing'
}

t.test(
  'an error names the path of the first invalid field, the expected and the actual value',
  async (t) => {
    const nested = Type.Object({
      options: Type.Object({
        limit: Type.Integer({ minimum: 1 }),
        tags: Type.Array(Type.String()),
      }),
    })
    const cases: readonly [TSchema, unknown, string][] = [
      [
        nested,
        { options: { limit: 'x', tags: [] } },
        'request.options.limit must be an integer, got "x"',
      ],
      [nested, { options: { limit: 0, tags: [] } }, 'request.options.limit must be >= 1, got 0'],
      [
        nested,
        { options: { limit: 1, tags: ['a', 5] } },
        'request.options.tags[1] must be a string, got 5',
      ],
      [nested, { options: { limit: 1 } }, 'request.options.tags is missing'],
      [nested, { options: null }, 'request.options must be an object, got null'],
      [nested, 'text', 'request must be an object, got "text"'],
      [
        Type.Object({ kind: Type.Enum(['a', 'b']) }),
        { kind: 'c' },
        'request.kind must be "a" or "b", got "c"',
      ],
      [
        Type.Object({ on: Type.Literal(true) }),
        { on: false },
        'request.on must be true, got false',
      ],
      [Type.Object({ n: Type.Null() }), { n: 1 }, 'request.n must be null, got 1'],
      [
        Type.Object({ t: Type.String({ maxLength: 2 }) }),
        { t: 'abc' },
        'request.t must not have more than 2 characters, got "abc"',
      ],
      [
        Type.Record(Type.String(), Type.Number()),
        { 'a b': 'x' },
        'request["a b"] must be a number, got "x"',
      ],
      [
        Type.Object({
          a: Type.Refine(
            Type.String(),
            (v) => v === 'x',
            () => 'must be x',
          ),
        }),
        { a: 'y' },
        'request.a must be x, got "y"',
      ],
    ]
    for (const [schema, value, message] of cases) t.equal(getMessage(schema, value), message)
  },
)

t.test('a value that matches no alternative results in one error', async (t) => {
  const colour = Type.Union([Type.Literal('red'), Type.Literal('green'), Type.Literal('blue')])
  t.equal(
    getMessage(Type.Object({ colour }), { colour: 'x' }),
    'request.colour must be "red", "green" or "blue", got "x"',
  )
  const loose = Type.Object({
    a: Type.Union([Type.String(), Type.Array(Type.Integer()), Type.Null()]),
  })
  t.equal(getMessage(loose, { a: true }), 'request.a must be a string, an array or null, got true')
  t.equal(
    getMessage(loose, { a: [1, 'x'] }),
    'request.a[1] must be an integer, got "x"',
    'the only alternative of this type',
  )
  const shapes = Type.Object({
    s: Type.Union([Type.Object({ r: Type.Number() }), Type.Object({ w: Type.Number() })]),
  })
  t.match(
    getMessage(shapes, { s: { r: 'x' } }),
    /^request\.s must be an object that matches one of its variants/,
  )
  const many = Type.Union(Array.from({ length: 50 }, (_, i) => Type.Literal(`option${i}`)))
  t.ok(getMessage(many, 'x').length < 200)
})

t.test('errors do not contain secrets', async (t) => {
  const schema = Type.Object({
    password: Type.String({ minLength: 10, writeOnly: true }),
    keys: Type.Array(Type.Integer(), { writeOnly: true }),
  })
  t.equal(
    getMessage(schema, { password: 'hunter2', keys: [] }),
    'request.password must not have fewer than 10 characters, got string',
  )
  t.equal(
    getMessage(schema, { password: 'hunter2hunter2', keys: ['hunter2'] }),
    'request.keys[0] must be an integer, got string',
  )
  const nested = Type.Object({ value: Type.Object({ data: Type.String({ writeOnly: true }) }) })
  for (const invalid of [{ value: 'hunter2' }, 'hunter2'])
    t.match(getMessage(nested, invalid), /^request(\.value)? must be an object, got string$/)
})

t.test('an error message is short for any request', async (t) => {
  const schema = Type.Record(Type.String(), Type.Number())
  t.ok(getMessage(schema, { a: 'x'.repeat(100_000) }).length < 200)
  t.ok(getMessage(schema, { ['x'.repeat(100_000)]: 'a' }).length < 300)
  t.ok(
    getMessage(
      Type.Array(Type.Number()),
      Array.from({ length: 100_000 }, () => 'x'),
    ).length < 200,
  )
})

t.test('paths use dots for names and brackets for indexes and other names', async (t) => {
  t.equal(formatKeyPath('request', []), 'request')
  t.equal(formatKeyPath('request', ['a', '0', 1, 'b-c', '']), 'request.a[0][1]["b-c"][""]')
})

t.test('a SchemaError has no stack', async (t) => {
  t.notMatch(new SchemaError('x').stack, /\n\s+at /)
})
