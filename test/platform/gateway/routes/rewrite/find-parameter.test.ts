import fc from 'fast-check'
import t from 'tap'
import { findParameter } from '../../../../../platform/gateway/routes/rewrite/find-parameter.ts'
import { scaleRuns } from '../../../../fixtures/property-runs.ts'

t.test('finds the same value as URLSearchParams', async (t) => {
  const text = fc.array(fc.constantFrom('a', 'b', 'ab', '&', '&', '=', '=', '+', '%20', '%', '?'), {
    maxLength: 8,
  })
  const name = fc.constantFrom('a', 'b', 'ab', 'a b', 'a=b', 'a&b', '', '?a')
  fc.assert(
    fc.property(text, name, (parts, name) => {
      const query = parts.join('')
      t.equal(
        findParameter(query, name),
        new URLSearchParams(`?${query}`).get(name) ?? undefined,
        query,
      )
    }),
    { numRuns: scaleRuns(1000) },
  )
})

t.test('a request without a query has no parameters', async (t) => {
  t.equal(findParameter(undefined, 'a'), undefined)
  t.equal(findParameter('', ''), undefined)
})
