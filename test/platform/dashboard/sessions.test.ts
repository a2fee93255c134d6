import t, { type Test } from 'tap'
import { forwardCall } from '../../../core/rpc/proxy-call.ts'
import { createSessions, type Session } from '../../../platform/dashboard/sessions.ts'
import { createFixed } from '../../../sdk/client/targets.ts'
import { ADMIN, openServer } from '../../fixtures/server.ts'

const ADDRESS = '127.0.0.1'
const CREDENTIALS = { ...ADMIN, namespace: '' }
const MINUTE_MS = 60_000
const ENDED = { code: 401, message: 'session expired; log in again' }

const { proxy, post } = await openServer(t)

/** Creates an account. */
async function addAccount(id: string) {
  const account = { id, secret: `the secret of ${id}` }
  t.equal((await post('/auth/generate', account)).status, 200, id)
  return { ...account, namespace: '' }
}

/** Denies an endpoint of `auth` to all accounts during the test. */
async function deny(t: Test, endpoint: string): Promise<void> {
  const resource = { type: 'service', name: 'auth', endpoint }
  const rule = { id: endpoint, scope: '', access: 'DENIED', priority: 10, resource }
  t.equal((await post('/auth/rules/create', { rule, force: true })).status, 200)
  t.teardown(() => post('/auth/rules/delete', { id: endpoint, force: true }))
}

/** Sessions with a test clock. */
function open(
  t: Test,
  times: { readonly idleTimeoutMs?: number; readonly maxAgeMs?: number } = {},
) {
  const upstream = createFixed(proxy)
  let calls: string[] = []
  let offsetMs = 0
  const ended: Session[] = []
  let onEnded = (): void => {}
  const sessions = createSessions({
    callBridge(call) {
      calls.push(call.endpoint)
      forwardCall(call, () => upstream)
    },
    ...{ idleTimeoutMs: 30 * MINUTE_MS, maxAgeMs: 720 * MINUTE_MS, ...times },
    onEnd(session) {
      ended.push(session)
      onEnded()
    },
    nowMs: () => Date.now() + offsetMs,
  })
  t.teardown(() => {
    sessions.close()
    upstream.close()
  })
  return {
    sessions,
    ended,
    nextEnd: () =>
      new Promise<void>((resolve) => {
        onEnded = resolve
      }),
    takeCalls(): string[] {
      const all = calls
      calls = []
      return all
    },
    wait(minutes: number) {
      offsetMs += minutes * MINUTE_MS
    },
  }
}

t.test('finds a session by a random id that does not contain its token', async (t) => {
  const { sessions } = open(t)
  const one = await sessions.begin(CREDENTIALS, ADDRESS)
  const other = await sessions.begin(CREDENTIALS, ADDRESS)
  t.match(one.id, /^[\w-]{43}$/)
  t.not(one.id, other.id)
  t.equal(sessions.find(one.id), one)
  t.equal(sessions.find(other.id), other)
  for (const id of ['', 'a', one.token, one.id.toLowerCase()]) t.equal(sessions.find(id), undefined)
  t.match(sessions.toView(one), { account: { id: 'admin' }, namespace: 'mx' })
})

t.test('exchanges a token after half of its lifetime, once for concurrent checks', async (t) => {
  const { sessions, takeCalls, wait } = open(t)
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  const first = session.token
  await sessions.check(session, ADDRESS)
  t.equal(session.token, first)
  t.strictSame(takeCalls(), ['Auth.Token', 'Auth.Inspect'])

  wait(8)
  await Promise.all([sessions.check(session, ADDRESS), sessions.check(session, ADDRESS)])
  t.not(session.token, first)
  t.strictSame(takeCalls(), ['Auth.Token'])
  t.equal(sessions.find(session.id), session)
})

t.test('rejects a check during which the session ends', async (t) => {
  for (const minutes of [0, 8]) {
    const { sessions, wait } = open(t)
    const session = await sessions.begin(CREDENTIALS, ADDRESS)
    wait(minutes)
    const checked = sessions.check(session, ADDRESS)
    sessions.close()
    await t.rejects(checked, ENDED, minutes === 0 ? 'inspects the token' : 'exchanges the token')
  }
})

t.test('a session outlives its access token while it is used', async (t) => {
  const { sessions, wait } = open(t)
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  t.notOk(sessions.isStale(session))
  wait(20)
  t.equal(sessions.find(session.id), session)
  t.ok(sessions.isStale(session))
  await sessions.check(session, ADDRESS)
})

t.test('a session ends after the idle timeout', async (t) => {
  const { sessions, ended, wait } = open(t)
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  wait(20)
  sessions.touch(session)
  wait(20)
  t.equal(sessions.find(session.id), session)
  const { expires } = sessions.toView(session)
  t.ok(expires <= Date.now() + 50 * MINUTE_MS)
  wait(11)
  t.equal(sessions.find(session.id), undefined)
  t.strictSame(ended, [session])
  sessions.touch(session)
  t.equal(sessions.find(session.id), undefined)
  await t.rejects(sessions.check(session, ADDRESS), ENDED)
})

t.test('a session in use ends at its maximum age', async (t) => {
  const { sessions, wait } = open(t, { maxAgeMs: 60 * MINUTE_MS })
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  for (let i = 0; i < 5; i++) {
    wait(11)
    sessions.touch(session)
  }
  t.equal(sessions.find(session.id), session)
  t.ok(sessions.toView(session).expires <= Date.now() + 60 * MINUTE_MS)
  wait(6)
  t.equal(sessions.find(session.id), undefined)
})

t.test('a session ends on time without requests', async (t) => {
  for (const times of [{ idleTimeoutMs: 50 }, { maxAgeMs: 50 }]) {
    const { sessions, ended, nextEnd } = open(t, times)
    const end = nextEnd()
    const session = await sessions.begin(CREDENTIALS, ADDRESS)
    // Timers of sessions do not keep the process alive.
    const alive = setInterval(() => {}, 1000)
    await end
    clearInterval(alive)
    t.strictSame(ended, [session])
  }
})

t.test('ending a session revokes all of its tokens', async (t) => {
  const { sessions, ended, takeCalls } = open(t)
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  const authorization = `Bearer ${session.token}`
  const list = () => post('/auth/accounts/list', {}, { authorization })
  t.equal((await list()).status, 200)
  await sessions.end(session, ADDRESS)
  t.equal((await list()).status, 401)
  t.strictSame(ended, [session])
  t.equal(sessions.find(session.id), undefined)
  takeCalls()
  await sessions.end(session, ADDRESS)
  t.strictSame(takeCalls(), [], 'only once')
  t.equal((await post('/auth/token', ADMIN)).status, 200)
})

t.test('a session with revoked tokens has ended', async (t) => {
  const { sessions, ended, wait } = open(t)
  for (const [id, minutes] of [
    ['jane', 0],
    ['joan', 8],
  ] as const) {
    const session = await sessions.begin(await addAccount(id), ADDRESS)
    t.equal((await post('/auth/revoke', { id })).status, 200)
    wait(minutes)
    await t.rejects(sessions.check(session, ADDRESS), ENDED)
    t.equal(sessions.find(session.id), undefined)
    t.equal(ended.pop(), session)
  }
})

t.test('the least recently used session ends above the limit', async (t) => {
  const { sessions, ended } = open(t)
  const token = await sessions.begin(CREDENTIALS, ADDRESS)
  // Without 10 000 logins, which take 100 ms each.
  const many = createSessions({
    callBridge: (call) =>
      call.reply(
        '',
        JSON.stringify({ token: { access_token: token.token, refresh_token: 'refresh' } }),
      ),
    ...{ idleTimeoutMs: MINUTE_MS, maxAgeMs: MINUTE_MS },
    onEnd: (session) => ended.push(session),
  })
  t.teardown(many.close)
  const used = await many.begin(CREDENTIALS, ADDRESS)
  const unused = await many.begin(CREDENTIALS, ADDRESS)
  for (let i = 2; i < 10_000; i++) await many.begin(CREDENTIALS, ADDRESS)
  many.touch(used)
  t.strictSame(ended, [])
  await many.begin(CREDENTIALS, ADDRESS)
  t.strictSame(ended, [unused])
  t.equal(many.find(used.id), used)
  t.equal(many.find(unused.id), undefined)
})

t.test('rules that deny Auth.Inspect end no session', async (t) => {
  const { sessions } = open(t)
  const session = await sessions.begin(CREDENTIALS, ADDRESS)
  await deny(t, 'Auth.Inspect')
  await sessions.check(session, ADDRESS)
  t.equal(sessions.find(session.id), session)
})

t.test('rules that deny Auth.Token are not reported as an invalid password', async (t) => {
  const { sessions } = open(t)
  const jane = await addAccount('denied')
  await deny(t, 'Auth.Token')
  await t.rejects(sessions.begin(jane, ADDRESS), {
    code: 401,
    message: 'Unauthorized call made to auth:Auth.Token',
  })
  t.ok(await sessions.begin(CREDENTIALS, ADDRESS), 'operators can still log in')
})
