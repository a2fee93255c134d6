import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { issueToken, verifyToken } from '../../../core/auth/access-token.ts'
import type { Account } from '../../../core/contracts/auth.ts'
import { createTokenKey, listPublicKeys } from '../../fixtures/token-keys.ts'

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

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = { alg: 'EdDSA', kid: key.id, typ: 'JWT' }
const CLAIMS = {
  sub: 'jane',
  iss: 'mx',
  aud: 'mx',
  iat: NOW_S,
  exp: NOW_S + 900,
  jti: '1',
  name: 'Jane',
  type: 'user',
  scopes: [],
  metadata: {},
}

/** A token signed with the right key, whatever it says. */
function forge(header: unknown, claims: unknown, by = key.privateKey): string {
  const text = `${encode(header)}.${encode(claims)}`
  return `${text}.${sign(null, Buffer.from(text), by).toString('base64url')}`
}

const verify = (token: string, nowS = NOW_S) => verifyToken(token, keys, nowS * 1000)

t.test('a token says whose it is, until it ends', async (t) => {
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
  await t.resolves(verify(token, NOW_S + 929), 'clocks may differ by 30 s')
  await t.rejects(verify(token, NOW_S + 931), { name: 'TokenError', message: /exp/ })
  await t.resolves(verify(token, NOW_S - 29))
  await t.rejects(verify(token, NOW_S - 31), { name: 'TokenError', message: /iat/ })
})

t.test('a token lives an hour at most', async (t) => {
  const token = await issueToken(JANE, { key, id: 'one', nowMs: NOW_S * 1000, lifeS: 1e9 })
  t.equal((await verify(token)).endsMs, (NOW_S + 3630) * 1000)
})

t.test('tokens of two keys are taken while keys change', async (t) => {
  const next = createTokenKey()
  const both = listPublicKeys(key, next)
  for (const signer of [key, next]) {
    const options = { key: signer, id: 'one', nowMs: NOW_S * 1000, lifeS: 900 }
    t.same((await verifyToken(await issueToken(JANE, options), both, NOW_S * 1000)).account, JANE)
  }
})

const foreign = generateKeyPairSync('ed25519').privateKey
const der = key.publicKey.export({ type: 'spki', format: 'der' })
const hmac = (() => {
  const text = `${encode({ ...HEADER, alg: 'HS256' })}.${encode(CLAIMS)}`
  return `${text}.${createHmac('sha256', der).update(text).digest('base64url')}`
})()
const good = forge(HEADER, CLAIMS)
const [head, body, signature] = good.split('.') as [string, string, string]

const ATTACKS: Readonly<Record<string, string>> = {
  'alg none, without a signature': `${encode({ alg: 'none' })}.${body}.`,
  'alg none, with a signature': forge({ ...HEADER, alg: 'none' }, CLAIMS),
  'alg None': forge({ ...HEADER, alg: 'None' }, CLAIMS),
  'alg HS256 with the public key for a secret': hmac,
  'alg RS256': forge({ ...HEADER, alg: 'RS256' }, CLAIMS),
  'alg ES256': forge({ ...HEADER, alg: 'ES256' }, CLAIMS),
  'no alg': forge({ kid: key.id }, CLAIMS),
  'alg a number': forge({ ...HEADER, alg: 1 }, CLAIMS),
  'a foreign key under a known name': forge(HEADER, CLAIMS, foreign),
  'a foreign key that it brings along': forge(
    { ...HEADER, jwk: { kty: 'OKP', crv: 'Ed25519', x: 'AAAA' } },
    CLAIMS,
    foreign,
  ),
  'a foreign key to be fetched': forge(
    { ...HEADER, jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/x' },
    CLAIMS,
    foreign,
  ),
  'an unknown key': forge({ ...HEADER, kid: 'other' }, CLAIMS),
  'no kid': forge({ alg: 'EdDSA' }, CLAIMS),
  'kid a path': forge({ ...HEADER, kid: '../../../dev/null' }, CLAIMS),
  'kid a query': forge({ ...HEADER, kid: "x' or '1'='1" }, CLAIMS),
  'kid with a line end': forge({ ...HEADER, kid: `${key.id}\n` }, CLAIMS),
  'kid of an object': forge({ ...HEADER, kid: '__proto__' }, CLAIMS),
  'kid a list': forge({ ...HEADER, kid: [key.id] }, CLAIMS),
  'kid too long': forge({ ...HEADER, kid: 'k'.repeat(65) }, CLAIMS),
  'a critical extension': forge({ ...HEADER, crit: ['exp2'], exp2: 1 }, CLAIMS),
  'an unencoded payload': forge({ ...HEADER, crit: ['b64'], b64: false }, CLAIMS),
  'another issuer than a namespace': forge(HEADER, { ...CLAIMS, iss: 'https://a/b' }),
  'no issuer': forge(HEADER, { ...CLAIMS, iss: undefined }),
  'another audience': forge(HEADER, { ...CLAIMS, aud: 'other' }),
  'no audience': forge(HEADER, { ...CLAIMS, aud: undefined }),
  expired: forge(HEADER, { ...CLAIMS, iat: NOW_S - 1000, exp: NOW_S - 31 }),
  'not yet valid': forge(HEADER, { ...CLAIMS, nbf: NOW_S + 31 }),
  'issued later': forge(HEADER, { ...CLAIMS, iat: NOW_S + 31 }),
  'issued long ago': forge(HEADER, { ...CLAIMS, iat: NOW_S - 3700 }),
  'valid for ever': forge(HEADER, { ...CLAIMS, exp: undefined }),
  'valid too long': forge(HEADER, { ...CLAIMS, exp: NOW_S + 3601 }),
  'an end that is a text': forge(HEADER, { ...CLAIMS, exp: '9999999999' }),
  'without an id': forge(HEADER, { ...CLAIMS, jti: undefined }),
  'a subject that is a number': forge(HEADER, { ...CLAIMS, sub: 1 }),
  'an empty subject': forge(HEADER, { ...CLAIMS, sub: '' }),
  'an unknown type': forge(HEADER, { ...CLAIMS, type: 'god' }),
  'scopes that are a text': forge(HEADER, { ...CLAIMS, scopes: 'admin' }),
  'scopes that are numbers': forge(HEADER, { ...CLAIMS, scopes: [1] }),
  'an empty scope': forge(HEADER, { ...CLAIMS, scopes: [''] }),
  'metadata that is a list': forge(HEADER, { ...CLAIMS, metadata: [] }),
  'metadata that nests': forge(HEADER, { ...CLAIMS, metadata: { a: {} } }),
  'claims that are a list': forge(HEADER, []),
  'claims that are null': forge(HEADER, null),
  'other claims than were signed': `${head}.${encode({ ...CLAIMS, sub: 'admin' })}.${signature}`,
  'another header than was signed': `${encode({ ...HEADER, typ: 'x' })}.${body}.${signature}`,
  'half a signature': `${head}.${body}.${signature.slice(0, 43)}`,
  'no signature': `${head}.${body}.`,
  'two parts': `${head}.${body}`,
  'four parts': `${good}.${signature}`,
  'five parts, as encrypted ones have': `${good}.a.b`,
  'a header that is no JSON': `${Buffer.from('{').toString('base64url')}.${body}.${signature}`,
  'a blank inside': good.replace('.', ' .'),
  'base64 instead of base64url': `${head}.${body}.${signature.slice(0, -2)}+/`,
  'padding at the end': `${good}==`,
  oversized: forge(HEADER, { ...CLAIMS, metadata: { a: 'x'.repeat(4096) } }),
  empty: '',
  'a NUL': `${good}\0`,
}

t.test('no token is taken that is not genuine', async (t) => {
  t.equal((await verify(good)).account.id, 'jane', 'the one they are made from is')
  for (const [what, token] of Object.entries(ATTACKS))
    await t.rejects(verify(token), { name: 'TokenError' }, what)
})

t.test('what is wrong with a token quotes nothing of it', async (t) => {
  for (const [what, token] of Object.entries(ATTACKS)) {
    const error = await verify(token).catch((error: Error) => error)
    const parts = token.split('.').filter((part) => part.length > 8)
    t.notOk(
      parts.some((part) => (error as Error).message.includes(part)),
      what,
    )
    t.notMatch((error as Error).message, /[^\x20-\x7e]/, what)
  }
})
