import t from 'tap'
import { boundsOf } from '../../../web/form/bounds.ts'
import { toField } from '../../../web/form/field.ts'

t.test('describes the constraints of a schema', (t) => {
  const cases = [
    [{ type: 'integer', minimum: 1, maximum: 5 }, ['1 to 5']],
    [{ type: 'integer', minimum: 0 }, ['at least 0']],
    [
      { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
      ['greater than 0', 'multiple of 0.5'],
    ],
    [{ type: 'string', maxLength: 80, pattern: '^a+$' }, ['at most 80 characters', 'pattern ^a+$']],
    [{ type: 'string', format: 'date-time' }, ['format date-time']],
    [{ type: 'integer', format: 'int32' }, []],
    [{ type: 'array', minItems: 2, maxItems: 2 }, ['2 items']],
  ] as const
  for (const [schema, bounds] of cases)
    t.same(boundsOf(toField(schema)), bounds, JSON.stringify(schema))
  t.end()
})
