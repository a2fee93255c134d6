import t from 'tap'
import { isTooDeep, MAX_LEVELS } from '../../../web/json/json-levels.ts'

const nest = (levels: number): string =>
  `${'[{"a":'.repeat(levels / 2)}"]]"${'}]'.repeat(levels / 2)}`

t.test('counts levels of lists and objects, but ignores brackets in strings', async (t) => {
  t.notOk(isTooDeep(nest(MAX_LEVELS)))
  t.ok(isTooDeep(nest(MAX_LEVELS + 2)))
  t.notOk(isTooDeep(JSON.stringify({ '[': '['.repeat(2 * MAX_LEVELS), '"': '\\"[' })))
  t.notOk(isTooDeep(JSON.stringify(Array.from({ length: 2 * MAX_LEVELS }, () => [{}]))))
})
