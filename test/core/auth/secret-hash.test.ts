import { scryptSync } from 'node:crypto'
import t from 'tap'
import { createSecretHasher } from '../../../core/auth/secret-hash.ts'

const CHEAP = 4

t.test('a secret matches its own hash only', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  const hash = await hasher.hash('correct horse')
  t.match(hash, /^\$scrypt\$ln=4,r=8,p=5\$[\w+/]{22}\$[\w+/]{43}$/)
  t.ok(await hasher.matches('correct horse', hash))
  for (const other of ['correct horsE', 'correct horse ', '', '\0'])
    t.notOk(await hasher.matches(other, hash))
  t.not(await hasher.hash('correct horse'), hash, 'each is salted')
})

t.test(
  'hashes are those of scrypt (RFC 7914), whatever they cost when they were made',
  async (t) => {
    const hasher = createSecretHasher('auth')
    const salt = Buffer.from('NaCl')
    const hash = scryptSync('password', salt, 32, { N: 1024, r: 8, p: 16 })
    const text = `$scrypt$ln=10,r=8,p=16$${salt.toString('base64').replace(/=/g, '')}$${hash.toString('base64').replace(/=/g, '')}`
    t.equal(hash.toString('hex').slice(0, 16), 'fdbabe1c9d347200', 'test vector of the RFC')
    t.ok(await hasher.matches('password', text))
    t.notOk(await hasher.matches('Password', text))
  },
)

t.test('a secret is the same however its characters are composed', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  t.ok(await hasher.matches('zoe\u0308', await hasher.hash('zo\u00eb')))
})

t.test('nobody and malformed hashes match nothing', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  for (const hash of [undefined, '', 'plain', '$scrypt$ln=4$a$b', '$2b$10$abc'])
    t.notOk(await hasher.matches('plain', hash))
})

t.test('of too many at once the last are refused, the others are answered', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  const asked = Array.from({ length: 110 }, () => hasher.matches('x', undefined))
  const settled = await Promise.allSettled(asked)
  const refused = settled.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  t.equal(refused.length, 110 - 102)
  for (const error of refused) t.match(error.message, /too many/)
  t.equal(await hasher.matches('x', undefined), false, 'and later ones are, too')
})
