import { createPublicKey } from 'node:crypto'
import t from 'tap'
import { toJwks } from '../../../../services/auth/tokens/jwks.ts'
import { createTokenKey, listPublicKeys } from '../../../fixtures/token-keys.ts'

t.test('returns public keys per RFC 8037 without private parts', (t) => {
  const one = createTokenKey()
  const two = createTokenKey()
  const jwks = toJwks(listPublicKeys(one, two))
  t.same(
    jwks.map(({ kid, kty, crv, alg, use }) => ({ kid, kty, crv, alg, use })),
    [one, two].map(({ id }) => ({ kid: id, kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' })),
  )
  for (const jwk of jwks) t.notOk('d' in jwk)
  t.ok(createPublicKey({ key: { ...jwks[0]! }, format: 'jwk' }).equals(one.publicKey))
  t.end()
})
