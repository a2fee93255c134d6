import t from 'tap'
import { findOwnTokens, setOwnTokens } from '../../sdk/own-tokens.ts'
import { createFixedToken } from '../../sdk/token-source.ts'

t.test('of each client is remembered who it is', (t) => {
  const [one, two] = [{}, {}]
  const tokens = createFixedToken('t')
  setOwnTokens(one, tokens)
  t.equal(findOwnTokens(one), tokens)
  t.equal(findOwnTokens(two), undefined)
  t.end()
})
