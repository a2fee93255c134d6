import { generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import {
  issueToken,
  verifyToken,
  verifyTokenSync,
} from '../../../../core/auth/token/access-token.ts'
import type { Account } from '../../../../core/contracts/auth.ts'
import { listTokenAttacks } from '../../../fixtures/token-attacks.ts'
import { createTokenKey, listPublicKeys } from '../../../fixtures/token-keys.ts'

const NOW_S = 1_800_000_000
const JANE: Account = {
  id: 'jane',
  name: 'Jane',
  type: 'user',
  issuer: 'mx',
  scopes: ['admin', 'staff'],
  metadata: { team: 'blue' },
}
const key = createTokenKey()
const keys = listPublicKeys(key)

const verify = (token: string, nowS = NOW_S) => verifyToken(token, keys, nowS * 1000)

t.test(
  'a token contains the account and is valid until it expires, with 30 s of clock skew',
  async (t) => {
    const token = await issueToken(JANE, { key, id: 'one', nowMs: NOW_S * 1000, lifeS: 900 })
    t.same(await verify(token), {
      account: JANE,
      id: 'one',
      issuedMs: NOW_S * 1000,
      endsMs: (NOW_S + 930) * 1000,
    })
    const [, claims] = token.split('.')
    t.same(Object.keys(JSON.parse(Buffer.from(claims!, 'base64url').toString())).sort(), [
      'aud',
      'exp',
      'iat',
      'iss',
      'jti',
      'metadata',
      'name',
      'scopes',
      'sub',
      'type',
    ])
    await t.resolves(verify(token, NOW_S + 929), '30 s of clock skew are allowed')
    await t.rejects(verify(token, NOW_S + 931), { name: 'TokenError', message: /exp/ })
    await t.resolves(verify(token, NOW_S - 29))
    await t.rejects(verify(token, NOW_S - 31), { name: 'TokenError', message: /iat/ })
  },
)

t.test('the lifetime of a token is limited to one hour', async (t) => {
  const token = await issueToken(JANE, { key, id: 'one', nowMs: NOW_S * 1000, lifeS: 1e9 })
  t.equal((await verify(token)).endsMs, (NOW_S + 3630) * 1000)
})

t.test('tokens of the previous and the next key are valid during a key rotation', async (t) => {
  const next = createTokenKey()
  const bothKeys = listPublicKeys(key, next)
  for (const signer of [key, next]) {
    const options = { key: signer, id: 'one', nowMs: NOW_S * 1000, lifeS: 900 }
    t.same(
      (await verifyToken(await issueToken(JANE, options), bothKeys, NOW_S * 1000)).account,
      JANE,
    )
  }
})

const { validToken, attacks: ATTACKS } = listTokenAttacks(key, NOW_S)

t.test('every forged or malformed token is rejected', async (t) => {
  t.equal((await verify(validToken)).account.id, 'jane', 'the token they are derived from is valid')
  for (const [description, token] of Object.entries(ATTACKS)) {
    await t.rejects(verify(token), { name: 'TokenError' }, description)
    t.throws(() => verifyTokenSync(token, keys, NOW_S * 1000), { name: 'TokenError' }, description)
  }
})

t.test('synchronous and asynchronous verification return the same session', async (t) => {
  t.same(verifyTokenSync(validToken, keys, NOW_S * 1000), await verify(validToken))
})

t.test('a token signed with a key of another type is rejected', async (t) => {
  for (const kind of ['rsa', 'ec'] as const) {
    const { privateKey, publicKey } =
      kind === 'rsa'
        ? generateKeyPairSync(kind, { modulusLength: 512 })
        : generateKeyPairSync(kind, { namedCurve: 'P-256' })
    const text = validToken.slice(0, validToken.lastIndexOf('.'))
    const by = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign('sha256', Buffer.from(text), by).toString('base64url')
    t.equal(signature.length, 86, 'same length as an Ed25519 signature')
    const others = new Map([[key.id, publicKey]])
    await t.rejects(
      verifyToken(`${text}.${signature}`, others, NOW_S * 1000),
      { name: 'TokenError', message: /another type/ },
      kind,
    )
  }
})

t.test('the error of an invalid token does not quote the token', async (t) => {
  for (const [description, token] of Object.entries(ATTACKS)) {
    const error = await verify(token).catch((error: Error) => error)
    const parts = token.split('.').filter((part) => part.length > 8)
    t.notOk(
      parts.some((part) => (error as Error).message.includes(part)),
      description,
    )
    t.notMatch((error as Error).message, /[^\x20-\x7e]/, description)
  }
})
