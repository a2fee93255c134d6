import t from 'tap'
import { createLoginLimit } from '../../../core/auth/token/login-limit.ts'
import { createContext } from '../../../sdk/context.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { createAttemptLogin } from '../../../services/auth/login-throttle.ts'

const TARGET = { namespace: 'mx', id: 'jane' }

t.test('audits and counts wrong credentials, but not server errors', async (t) => {
  const events: unknown[] = []
  const attempt = createAttemptLogin(
    createLoginLimit(() => 0),
    (_ctx, action, name) => void events.push([action, name]),
  )
  const ctx = createContext({ endpoint: 'Auth.Token', metadata: { 'mx-address': '192.0.2.1' } })
  t.equal(await attempt(ctx, TARGET, async () => 'in'), 'in')
  const fail = (error: Error) =>
    attempt(ctx, TARGET, async () => {
      throw error
    })
  for (let i = 0; i < 10; i++)
    await t.rejects(fail(new Error('unavailable')), { message: 'unavailable' })
  t.same(events, [])
  for (let i = 0; i < 5; i++) await t.rejects(fail(badRequest('auth', 'wrong')), { code: 400 })
  t.same(events[0], ['login.failed', { namespace: 'mx', target: 'jane' }])
  t.equal(events.length, 5)
  await t.rejects(fail(badRequest('auth', 'wrong')), { code: 429, id: 'auth.Auth.Token' })
  t.same(events[5], ['login.refused', { namespace: 'mx', target: 'jane' }])
  await t.rejects(fail(badRequest('auth', 'wrong')), { code: 429 })
  t.equal(events.length, 6, 'throttled attempts do not count')
})
