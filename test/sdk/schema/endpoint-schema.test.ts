import t from 'tap'
import { schemaOf, toSchema } from '../../../sdk/schema/endpoint-schema.ts'

t.test('a schema is built from the fields of a description', (t) => {
  const leaf = (name: string, type: string) => ({ name, type, values: [] })
  t.same(
    toSchema({
      type: 'CallRequest',
      values: [
        leaf('name', 'string'),
        leaf('ids', '[]int64'),
        leaf('labels', 'map[string]bool'),
        leaf('data', 'bytes'),
        leaf('other', 'any'),
        { name: 'inner', type: '[]Item', values: [leaf('count', 'int32')] },
      ],
    }),
    {
      type: 'object',
      properties: {
        name: { type: 'string' },
        ids: { type: 'array', items: { type: ['integer', 'string'], format: 'int64' } },
        labels: { type: 'object', additionalProperties: { type: 'boolean' } },
        data: { type: 'string', contentEncoding: 'base64' },
        other: {},
        inner: {
          type: 'array',
          items: { type: 'object', properties: { count: { type: 'integer', format: 'int32' } } },
        },
      },
    },
  )
  t.end()
})

t.test('the declared JSON Schema takes precedence; an invalid one is ignored', (t) => {
  const value = { name: 'r', type: 'R', values: [{ name: 'a', type: 'bool', values: [] }] }
  const describe = (requestSchema: string) =>
    schemaOf(
      { name: 'A.B', request: value, response: value, metadata: { requestSchema } },
      'request',
    )
  t.same(describe('{"type":"string"}'), { type: 'string' })
  for (const text of ['', '{', '5', 'null'])
    t.same(describe(text), { type: 'object', properties: { a: { type: 'boolean' } } }, text)
  t.end()
})
