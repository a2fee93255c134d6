import { scryptSync } from 'node:crypto'
import t from 'tap'
import { createSecretHasher } from '../../../../core/auth/token/secret-hash.ts'

const LOW_COST = 4

t.test('a secret matches its own hash only', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  const hash = await hasher.hash('correct horse')
  t.match(hash, /^\$scrypt\$ln=4,r=8,p=5\$[\w+/]{22}\$[\w+/]{43}$/)
  t.ok(await hasher.matches('correct horse', hash))
  for (const other of ['correct horsE', 'correct horse ', '', '\0'])
    t.notOk(await hasher.matches(other, hash))
  t.not(await hasher.hash('correct horse'), hash, 'each hash has its own salt')
})

t.test('scrypt hashes (RFC 7914) with other cost parameters match', async (t) => {
  const hasher = createSecretHasher('auth')
  const salt = Buffer.from('NaCl')
  const hash = scryptSync('password', salt, 32, { N: 1024, r: 8, p: 16 })
  const text = `$scrypt$ln=10,r=8,p=16$${salt.toString('base64').replace(/=/g, '')}$${hash.toString('base64').replace(/=/g, '')}`
  t.equal(hash.toString('hex').slice(0, 16), 'fdbabe1c9d347200', 'test vector of RFC 7914')
  t.ok(await hasher.matches('password', text))
  t.notOk(await hasher.matches('Password', text))
})

t.test('composed and decomposed Unicode forms of a secret match', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  t.ok(await hasher.matches('zoe\u0308', await hasher.hash('zo\u00eb')))
})

t.test('a missing or malformed hash matches no secret', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  for (const hash of [undefined, '', 'plain', '$scrypt$ln=4$a$b', '$2b$10$abc'])
    t.notOk(await hasher.matches('plain', hash))
})

t.test('checks beyond the queue limit are rejected, and the others complete', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  const responses = Array.from({ length: 110 }, () => hasher.matches('x', undefined))
  const settled = await Promise.allSettled(responses)
  const rejected = settled.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  t.equal(rejected.length, 110 - 102)
  for (const error of rejected) t.match(error.message, /^Too many password checks/)
  t.equal(await hasher.matches('x', undefined), false, 'a later check completes')
})

t.test('a check with priority runs ahead of a flood of other checks', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  const done: string[] = []
  const check = async (key: string, hasPriority = false): Promise<void> => {
    await hasher.matches('x', undefined, { key, hasPriority })
    done.push(key)
  }
  const flood = Array.from({ length: 120 }, (_, i) => check(`198.51.100.${i}`))
  await Promise.all([check('192.0.2.1', true), ...flood])
  t.ok(done.indexOf('192.0.2.1') <= 4, `position ${done.indexOf('192.0.2.1')}`)
})

t.test('many checks of one address delay the check of another address by one', async (t) => {
  const hasher = createSecretHasher('auth', LOW_COST)
  const done: string[] = []
  const check = async (key: string): Promise<void> => {
    await hasher.matches('x', undefined, { key })
    done.push(key)
  }
  const flood = Array.from({ length: 60 }, () => check('198.51.100.1'))
  await Promise.all([...flood, check('192.0.2.1')])
  t.ok(done.indexOf('192.0.2.1') <= 4, `position ${done.indexOf('192.0.2.1')}`)
})

t.test('rejects a check that waits too long with 503 and Retry-After', async (t) => {
  const hasher = createSecretHasher('auth')
  const running = [0, 1].map(() => hasher.matches('x', undefined))
  await t.rejects(hasher.matches('x', undefined, { key: 'late', maxWaitMs: 0 }), {
    ...{ id: 'auth', code: 503, headers: ['retry-after', '5'] },
    message: 'Too many password checks: the wait exceeds 5 s. Try again later.',
  })
  await Promise.all(running)
})
