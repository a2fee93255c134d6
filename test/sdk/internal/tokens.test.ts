import t from 'tap'
import { createFixedToken } from '../../../sdk/auth/token-source.ts'
import { findOwnTokens, setOwnTokens } from '../../../sdk/internal/tokens.ts'

t.test('of each client is remembered who it is', (t) => {
  const [one, two] = [{}, {}]
  const tokens = createFixedToken('t')
  setOwnTokens(one, tokens)
  t.equal(findOwnTokens(one), tokens)
  t.equal(findOwnTokens(two), undefined)
  t.end()
})
