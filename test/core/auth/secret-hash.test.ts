import { scryptSync } from 'node:crypto'
import t from 'tap'
import { createRandomSecret, createSecretHasher } from '../../../core/auth/secret-hash.ts'

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

t.test('a random secret matches its own hash only, and finding that out is quick', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  const secret = createRandomSecret()
  t.match(secret, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  t.not(createRandomSecret(), secret)
  const hash = hasher.hashRandom(secret)
  t.match(hash, /^\$sha256\$[\w+/]{22}\$[\w+/]{43}$/)
  t.not(hasher.hashRandom(secret), hash, 'each is salted')
  const many = Array.from({ length: 1000 }, () => hasher.matches(secret, hash))
  t.ok((await Promise.all(many)).every(Boolean), 'none of them waits for a thread')
  for (const other of [createRandomSecret(), '', secret.slice(1)])
    t.notOk(await hasher.matches(other, hash))
  for (const malformed of [hash.slice(0, -1), '$sha256$$', `${hash}a`])
    t.notOk(await hasher.matches(secret, malformed))
})

t.test('who has another secret than a random one is refused as slowly as nobody', async (t) => {
  const hasher = createSecretHasher('auth', CHEAP)
  const hash = hasher.hashRandom(createRandomSecret())
  const asked = Array.from({ length: 110 }, () => hasher.matches('wrong', hash))
  const settled = await Promise.allSettled(asked)
  t.equal(settled.filter(({ status }) => status === 'rejected').length, 110 - 102)
})

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
