import t from 'tap'
import { createFixedToken } from '../../../sdk/auth/token-source.ts'
import { findServiceTokens, setServiceTokens } from '../../../sdk/internal/tokens.ts'

t.test('of each client is remembered who it is', (t) => {
  const [one, two] = [{}, {}]
  const tokens = createFixedToken('t')
  setServiceTokens(one, tokens)
  t.equal(findServiceTokens(one), tokens)
  t.equal(findServiceTokens(two), undefined)
  t.end()
})
