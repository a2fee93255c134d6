import t from 'tap'
import type { JsonSchema } from '../../../sdk/schema/json-schema.ts'
import {
  ABSENT,
  type Draft,
  emptyDraft,
  openDraft,
  setDraft,
  withText,
} from '../../../web/form/draft.ts'
import { toField } from '../../../web/form/field.ts'
import { fromRequest } from '../../../web/form/from-request.ts'
import { parseRequest, toRequest } from '../../../web/form/to-request.ts'
import { TOO_DEEP } from '../../../web/json/json-levels.ts'
import { toBody } from '../../../web/rpc/frames.ts'

/** Request of a message with one field, `x`. */
function ofField(schema: JsonSchema, draft: Draft, required = ['x']): unknown {
  const form = toField({ type: 'object', properties: { x: schema }, required })
  const { value, problems } = toRequest(form, setDraft('', [draft]))
  return problems.length === 0 ? value : problems.map(({ path, message }) => `${path} ${message}`)
}
const toDraft = (text: string): Draft => withText(ABSENT, text)

const right: [schema: JsonSchema, text: string, value: unknown][] = [
  [{ type: 'string' }, '', ''],
  [{ type: 'string' }, ' a\nb ', ' a\nb '],
  [{ type: 'integer' }, '42', 42],
  [{ type: 'integer' }, ' 0x2a ', 42],
  [{ type: 'integer', format: 'int32', maximum: 5 }, '5', 5],
  [{ type: ['integer', 'string'], format: 'int64' }, '9223372036854775807', '9223372036854775807'],
  [
    { type: ['integer', 'string'], format: 'uint64' },
    '18446744073709551615',
    '18446744073709551615',
  ],
  [{ type: 'number' }, '1.5e3', 1500],
  [{ type: 'boolean' }, 'false', false],
  [{ enum: ['a', null, 2] }, '1', null],
  [{ type: 'string', contentEncoding: 'base64' }, 'AAE=', 'AAE='],
  [{}, '{"id":9007199254740993}', { id: '9007199254740993' }],
]
for (const [schema, text, value] of right)
  t.test(`${JSON.stringify(text)} is valid for ${JSON.stringify(schema)}`, (t) => {
    t.same(ofField(schema, toDraft(text)), { x: value })
    t.end()
  })

const invalid: [schema: JsonSchema, text: string, message: string][] = [
  [{ type: 'integer' }, 'x', 'must be an integer such as 42 or 0x2a, got "x"'],
  [
    { type: 'integer' },
    '9007199254740993',
    'must be an integer, from -9007199254740991 to 9007199254740991, got "9007199254740993"',
  ],
  [
    { type: 'integer', format: 'int32' },
    '2147483648',
    'must be an int32, from -2147483648 to 2147483647, got "2147483648"',
  ],
  [{ type: 'integer', minimum: 1 }, '0', 'must be at least 1, got 0'],
  [{ type: 'integer', maximum: 1 }, '2', 'must be at most 1, got 2'],
  [{ type: 'number', exclusiveMinimum: 0 }, '0', 'must be greater than 0, got 0'],
  [{ type: 'number', exclusiveMaximum: 0 }, '0', 'must be less than 0, got 0'],
  [{ type: 'number' }, 'many', 'must be a number such as 1.5, got "many"'],
  [{ type: 'string', contentEncoding: 'base64' }, '#', 'must be base64 or a file'],
  [{}, '{', 'must be JSON: expected a name in double quotes at position 1, got the end'],
]
for (const [schema, text, message] of invalid)
  t.test(`${JSON.stringify(text)} is invalid for ${JSON.stringify(schema)}`, (t) => {
    t.same(ofField(schema, toDraft(text)), [`request.x ${message}`])
    t.end()
  })

t.test('absent fields are not sent, and are an error only if required without a default', (t) => {
  t.same(ofField({ type: 'string' }, ABSENT, []), {})
  t.same(ofField({ type: 'integer', default: 3 }, ABSENT), {})
  t.same(ofField({ type: 'string' }, ABSENT), ['request.x is required'])
  t.same(ofField({ type: ['string', 'null'] }, { ...ABSENT, presence: 'null' }), { x: null })
  t.end()
})

t.test('reports all problems with the same paths as errors of services', (t) => {
  const form = toField({
    type: 'object',
    required: ['items', 'labels'],
    properties: {
      items: {
        type: 'array',
        minItems: 3,
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      },
      labels: { type: 'object', additionalProperties: { type: 'integer' } },
    },
  })
  const item = openDraft(form.parts[0]!.item!)
  const labels: Draft = {
    ...setDraft('', []),
    parts: ['a b', 'a b'].map((key, id) => ({ id, key, draft: toDraft(id === 0 ? '1' : 'x') })),
  }
  const { problems } = toRequest(form, setDraft('', [setDraft('', [item, item]), labels]))
  t.same(
    problems.map(({ path, message }) => `${path} ${message}`),
    [
      'request.items must have at least 3 items, got 2',
      'request.items[0].name is required',
      'request.items[1].name is required',
      'request.labels["a b"] is a duplicate key',
      'request.labels["a b"] must be an integer such as 42 or 0x2a, got "x"',
    ],
  )
  t.end()
})

t.test('supports field names such as __proto__ and constructor', (t) => {
  const form = toField(
    JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
    ),
  )
  const { value } = toRequest(form, setDraft('', [toDraft('a'), toDraft('b')]))
  t.equal(JSON.stringify(value), '{"__proto__":"a","constructor":"b"}')
  t.same(
    fromRequest(form, value).parts.map(({ draft }) => draft.text),
    ['a', 'b'],
  )
  t.equal(JSON.stringify(toRequest(form, fromRequest(form, {})).value), '{}')
  t.end()
})

t.test('a message that must contain itself is expanded to a limited depth', (t) => {
  const form = toField({
    $ref: '#/$defs/A',
    $defs: { A: { type: 'object', required: ['a'], properties: { a: { $ref: '#/$defs/A' } } } },
  })
  t.equal(toRequest(form, emptyDraft(form)).problems.length, 1)
  t.end()
})

t.test(
  'parses a JSON request: empty input is an empty request, and large numbers stay exact',
  (t) => {
    t.same(parseRequest(' \n').value, {})
    const toDraft = '{"id": 9007199254740993.0, "far": 1e400}'
    const { value } = parseRequest(toDraft)
    t.same(value, { id: '9007199254740993.0', far: '1e400' })
    t.equal(String(Buffer.from(toBody(value))), toDraft, 'sent unchanged')
    t.same(parseRequest('{"a":}').problems, [
      { path: 'request', message: 'must be JSON: expected a value at position 5, got "}"' },
    ])
    t.end()
  },
)

t.test('rejects JSON that is nested too deep', (t) => {
  const text = '['.repeat(20_000) + ']'.repeat(20_000)
  const message = `must not be ${TOO_DEEP}`
  t.same(parseRequest(text).problems, [{ path: 'request', message }])
  t.same(ofField({}, toDraft(text)), [`request.x ${message}`])
  t.end()
})
