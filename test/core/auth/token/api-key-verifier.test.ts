import t from 'tap'
import { createApiKey } from '../../../../core/auth/token/api-key.ts'
import { ApiKeyVerifier } from '../../../../core/auth/token/api-key-verifier.ts'
import type { Session } from '../../../../core/contracts/auth.ts'
import { createAccount, MemoryAuthSource } from '../../../fixtures/auth-source.ts'

const ID = '00112233445566ff'

/** Creates a verifier with a mock clock. */
function open() {
  const state = { nowMs: 1_800_000_000_000, revoked: new Set<string>() }
  const source = new MemoryAuthSource()
  const verified: Session[] = []
  const verifier = new ApiKeyVerifier({
    verify: source.verifyApiKey,
    isRevoked: ({ id }) => state.revoked.has(id),
    onVerified: (_, session) => void verified.push(session),
    nowMs: () => state.nowMs,
  })
  return { state, source, verifier, verified }
}

t.test('concurrent verifications of a key share one request', async (t) => {
  const { source, verifier, verified } = open()
  const key = createApiKey(ID)
  const session = source.addApiKey(key, createAccount())
  t.same(await Promise.all([verifier.verify(key), verifier.verify(key)]), [session, session])
  t.equal(source.verified, 1)
  t.same(verified, [session])
})

t.test('rejects a malformed key without a request', async (t) => {
  const { source, verifier } = open()
  await t.rejects(verifier.verify('mxk_short'), {
    name: 'TokenError',
    message: 'malformed API key',
  })
  t.equal(source.verified, 0)
})

t.test('rejects an unknown key again without a request for 10 seconds', async (t) => {
  const { state, source, verifier } = open()
  const key = createApiKey(ID)
  const unknown = { name: 'TokenError', message: `API key ${ID} is unknown, expired or deleted` }
  await t.rejects(verifier.verify(key), unknown)
  await t.rejects(verifier.verify(key), unknown)
  t.equal(source.verified, 1)
  state.nowMs += 10_001
  await t.rejects(verifier.verify(key), unknown)
  t.equal(source.verified, 2)
})

t.test('rejects an expired key', async (t) => {
  const { state, source, verifier } = open()
  const key = createApiKey(ID)
  source.addApiKey(key, createAccount(), { endsMs: state.nowMs })
  await t.rejects(verifier.verify(key), { name: 'TokenError' })
})

t.test('verifies a key again that was changed in the meantime', async (t) => {
  const { state, source, verifier } = open()
  const key = createApiKey(ID)
  source.addApiKey(key, createAccount(), { id: `${ID}.1` })
  state.revoked.add(`${ID}.1`)
  const verifying = verifier.verify(key)
  const session = source.addApiKey(key, createAccount(), { id: `${ID}.2` })
  t.same(await verifying, session)
  state.revoked.add(`${ID}.2`)
  await t.rejects(verifier.verify(key), { code: 503 }, 'a source that never catches up')
})

t.test('fails with 503 while the auth service is unavailable', async (t) => {
  const { source, verifier } = open()
  const key = createApiKey(ID)
  source.addApiKey(key, createAccount())
  source.outage = new Error('unavailable')
  await t.rejects(verifier.verify(key), { code: 503, id: 'auth' })
  source.outage = undefined
  t.ok(await verifier.verify(key), 'an outage is not cached')
})

t.test('limits the number of concurrent verifications', async (t) => {
  const { source, verifier } = open()
  const keys = Array.from({ length: 65 }, () => createApiKey(ID))
  for (const key of keys) source.addApiKey(key, createAccount())
  const results = await Promise.allSettled(keys.map((key) => verifier.verify(key)))
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 64)
  t.match(results.at(-1), { reason: { code: 503 } })
})
