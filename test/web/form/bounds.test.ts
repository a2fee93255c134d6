import t from 'tap'
import { boundsOf } from '../../../web/form/bounds.ts'
import { toField } from '../../../web/form/field.ts'

t.test('what a schema demands besides the type is told in words', (t) => {
  const cases = [
    [{ type: 'integer', minimum: 1, maximum: 5 }, ['1 to 5']],
    [{ type: 'integer', minimum: 0 }, ['at least 0']],
    [
      { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
      ['more than 0', 'a multiple of 0.5'],
    ],
    [{ type: 'string', maxLength: 80, pattern: '^a+$' }, ['at most 80 characters', 'like ^a+$']],
    [{ type: 'string', format: 'date-time' }, ['a date-time']],
    [{ type: 'integer', format: 'int32' }, []],
    [{ type: 'array', minItems: 2, maxItems: 2 }, ['2 items']],
  ] as const
  for (const [schema, bounds] of cases)
    t.same(boundsOf(toField(schema)), bounds, JSON.stringify(schema))
  t.end()
})
