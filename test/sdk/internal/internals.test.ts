import { inspect } from 'node:util'
import t from 'tap'
import { createFixedToken } from '../../../sdk/auth/token-source.ts'
import { findInternals, internalsOf } from '../../../sdk/internal/internals.ts'

t.test('each owner has its own internals', async (t) => {
  const [one, two] = [{}, {}]
  const tokens = createFixedToken('t')
  internalsOf(one).tokens = tokens
  t.equal(findInternals(one)?.tokens, tokens)
  t.equal(internalsOf(one), findInternals(one))
  t.equal(findInternals(two), undefined)
})

t.test('logs and copies of an object omit its internals', async (t) => {
  const owner = { name: 'shop' }
  internalsOf(owner).tokens = createFixedToken('secret')
  t.equal(inspect(owner), "{ name: 'shop' }")
  t.equal(findInternals({ ...owner }), undefined)
})
