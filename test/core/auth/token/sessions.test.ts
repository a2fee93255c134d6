import t from 'tap'
import { issueToken } from '../../../../core/auth/token/access-token.ts'
import { Sessions } from '../../../../core/auth/token/sessions.ts'
import type { Session } from '../../../../core/contracts/auth.ts'
import { createTokenKey, listPublicKeys } from '../../../fixtures/token-keys.ts'

const START_MS = 1_800_000_000_000

/** Creates sessions with a mock clock, keys and revocations. */
function open() {
  const state = { nowMs: START_MS, keys: listPublicKeys(), revoked: new Set<string>(), looked: 0 }
  const sessions = new Sessions({
    keys: () => {
      state.looked++
      return state.keys
    },
    isRevoked: ({ id }: Session) => state.revoked.has(id),
    nowMs: () => state.nowMs,
  })
  const key = createTokenKey()
  state.keys = listPublicKeys(key)
  const account = {
    ...({ id: 'jane', name: 'Jane', type: 'user', issuer: 'mx' } as const),
    scopes: ['staff'],
    metadata: {},
  }
  const issue = (id: string) => issueToken(account, { key, id, nowMs: state.nowMs, lifeS: 900 })
  return { state, sessions, issue }
}

t.test('a session that was verified elsewhere is cached until it expires', async (t) => {
  const { state, sessions } = open()
  const account = {
    id: 'jane',
    name: '',
    type: 'user',
    issuer: 'mx',
    scopes: [],
    metadata: {},
  } as const
  const session = { account, id: 'k.1', issuedMs: state.nowMs, endsMs: state.nowMs + 5000 }
  sessions.add('mxk_a', session, state.nowMs + 1000)
  sessions.add('mxk_b', { ...session, id: 'l.1' }, state.nowMs + 60_000)
  t.equal(sessions.getCached('mxk_a'), session)
  state.nowMs += 1000
  t.equal(sessions.getCached('mxk_a'), undefined)
  t.match(sessions.getCached('mxk_b'), { id: 'l.1' })
  state.nowMs += 4000
  t.equal(sessions.getCached('mxk_b'), undefined, 'at most until the session ends')
  sessions.add('mxk_c', { ...session, endsMs: state.nowMs + 1 }, state.nowMs + 1)
  state.revoked.add('k.1')
  sessions.forget()
  t.equal(sessions.getCached('mxk_c'), undefined, 'revoked')
})

t.test('a token is verified once, then cached', async (t) => {
  const { state, sessions, issue } = open()
  const token = await issue('a')
  t.equal(sessions.getCached(token), undefined)
  const session = sessions.verify(token)
  t.notOk(session instanceof Promise, 'synchronous')
  t.equal(state.looked, 1)
  t.equal(sessions.getCached(token), session)
})

t.test(
  'one token per millisecond is verified synchronously, the others on the thread pool',
  async (t) => {
    const { state, sessions, issue } = open()
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(issue))
    t.notOk(sessions.verify(a!) instanceof Promise)
    const verifying = sessions.verify(b!)
    t.ok(verifying instanceof Promise)
    t.equal(sessions.getCached(b!), undefined)
    t.equal(sessions.verify(b!), verifying, 'verified once while pending')
    t.equal(await verifying, sessions.getCached(b!))
    state.nowMs++
    t.notOk(sessions.verify(c!) instanceof Promise)
  },
)

t.test('a token is cached until it expires', async (t) => {
  const { state, sessions, issue } = open()
  const token = await issue('a')
  await sessions.verify(token)
  state.nowMs += 929_000
  t.ok(sessions.getCached(token))
  state.nowMs += 1000
  t.equal(sessions.getCached(token), undefined)
  state.nowMs += 1000
  t.throws(() => sessions.verify(token), { name: 'TokenError' })
})

t.test('a token with the signature of a cached token and other claims is rejected', async (t) => {
  const { sessions, issue } = open()
  const token = await issue('a')
  await sessions.verify(token)
  const [head, , signature] = token.split('.')
  const claims = Buffer.from(JSON.stringify({ sub: 'admin' })).toString('base64url')
  const forged = `${head}.${claims}.${signature}`
  t.equal(sessions.getCached(forged), undefined)
  await t.rejects(async () => sessions.verify(forged), { name: 'TokenError' })
  t.equal(sessions.getCached(token)?.account.id, 'jane')
})

t.test('a rejected token is not cached', async (t) => {
  const { state, sessions, issue } = open()
  const token = await issue('a')
  const { keys } = state
  state.keys = listPublicKeys()
  t.throws(() => sessions.verify(token), { message: 'signed with an unknown key' })
  state.keys = keys
  t.match(await sessions.verify(token), { id: 'a' })
})

t.test('a revoked token is evicted and rejected, and others remain cached', async (t) => {
  const { state, sessions, issue } = open()
  const [a, b] = [await issue('a'), await issue('b')]
  await Promise.all([sessions.verify(a), sessions.verify(b)])
  state.revoked.add('a')
  sessions.forget()
  t.equal(sessions.getCached(a), undefined)
  t.ok(sessions.getCached(b))
  for (const variant of ['on the thread pool', 'synchronous']) {
    const verifying = async () => sessions.verify(a)
    await t.rejects(verifying, { name: 'TokenError', message: 'revoked' }, variant)
    state.nowMs++
  }
})

t.test('a token is rejected if its key is removed while it is verified', async (t) => {
  const { state, sessions, issue } = open()
  const token = await issue('a')
  t.notOk(sessions.verify(await issue('b')) instanceof Promise)
  const verifying = sessions.verify(token)
  t.ok(verifying instanceof Promise)
  state.keys = listPublicKeys()
  sessions.forget(true)
  await t.rejects(async () => verifying, { message: 'signed with an unknown key' })
  t.equal(sessions.getCached(token), undefined)
})
