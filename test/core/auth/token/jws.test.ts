import t from 'tap'
import { readJws } from '../../../../core/auth/token/jws.ts'
import { encodePart } from '../../../fixtures/token-attacks.ts'

const SIGNATURE = Buffer.alloc(64, 0xff).toString('base64url')
const HEADER = encodePart({ alg: 'EdDSA' })

t.test('a token is parsed into header, claims, signed bytes and signature', async (t) => {
  const claims = encodePart({ sub: 'jäne' })
  t.same(readJws(`${HEADER}.${claims}.${SIGNATURE}`), {
    header: { alg: 'EdDSA' },
    claims: { sub: 'jäne' },
    signed: Buffer.from(`${HEADER}.${claims}`),
    signature: Buffer.alloc(64, 0xff),
  })
})

t.test('the error of a malformed token names the malformed part without quoting it', async (t) => {
  const object = encodePart({})
  const bytes = (text: string) => Buffer.from(text, 'latin1').toString('base64url')
  const read = (header: string, claims: string) => () => readJws(`${header}.${claims}.${SIGNATURE}`)
  for (const invalid of [bytes('{'), bytes('{"secret"}'), bytes('{"a":"\xe9"}'), encodePart([])]) {
    t.throws(read(invalid, object), { name: 'TokenError', message: 'malformed header' })
    t.throws(read(HEADER, invalid), { name: 'TokenError', message: 'malformed claims' })
  }
  const form = { name: 'TokenError', message: /^not a header, claims and a signature/ }
  for (const signature of ['', SIGNATURE.slice(1), `${SIGNATURE}A`, `${SIGNATURE.slice(0, -1)}x`])
    t.throws(() => readJws(`${HEADER}.${object}.${signature}`), form, signature)
  t.throws(read('', object), form)
  t.throws(read(HEADER, 'a+b'), form)
})
