import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import {
  createFixedToken,
  createTokenSource,
  type LoginReply,
} from '../../../sdk/auth/token-source.ts'

/** Opens a token source with tokens of one minute and a test clock. */
function open({ isImplicit = false } = {}) {
  const state = {
    nowMs: 0,
    logins: 0,
    /** Refresh tokens that were sent. */
    shown: [] as string[],
    error: undefined as GatewayError | undefined,
    /** Error of refresh requests only. */
    refusal: undefined as GatewayError | undefined,
  }
  const reply = (): LoginReply => {
    const n = state.logins + state.shown.length
    if (state.error !== undefined) throw state.error
    return {
      token: { access_token: `t${n}`, refresh_token: `r${n}`, created: 1000, expiry: 1060 },
    }
  }
  const tokens = createTokenSource({
    isImplicit,
    nowMs: () => state.nowMs,
    async logIn() {
      state.logins++
      return reply()
    },
    async refresh(token) {
      state.shown.push(token)
      if (state.refusal !== undefined) throw state.refusal
      return reply()
    },
  })
  return { state, tokens }
}

t.test('logs in once, on the first use', async (t) => {
  const { state, tokens } = open()
  t.equal(tokens.current(), undefined)
  t.equal(tokens.remainingMs(), 0)
  t.equal(state.logins, 0)
  await Promise.all([tokens.ready(), tokens.ready()])
  t.equal(tokens.current(), 't1')
  t.equal(tokens.remainingMs(), 50_000)
  t.equal(tokens.ready(), undefined)
  t.equal(state.logins, 1)
})

t.test('renews the token in the background before it expires', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 29_999
  void tokens.ready()
  t.equal(state.logins, 1)
  state.nowMs = 30_000
  t.equal(tokens.ready(), undefined)
  t.equal(tokens.current(), 't1')
  await new Promise(setImmediate)
  t.equal(tokens.current(), 't2')
  t.same([state.logins, state.shown], [1, ['r1']], 'with the refresh token')
  state.nowMs = 60_000
  for (let i = 0; i < 3; i++) void tokens.ready()
  await new Promise(setImmediate)
  t.same(
    [tokens.current(), state.shown],
    ['t3', ['r1', 'r2']],
    'one renewal at a time, with the newest refresh token',
  )
})

t.test('a rejected refresh token leads to a new login', async (t) => {
  for (const code of [400, 401]) {
    const { state, tokens } = open()
    await tokens.ready()
    state.nowMs = 50_000
    state.refusal = new GatewayError('auth', code, 'used before')
    await tokens.ready()
    t.same([state.logins, state.shown, tokens.current()], [2, ['r1'], 't3'])
  }
})

t.test('a refresh token is not sent again after its response was lost', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 50_000
  state.refusal = new GatewayError('auth', 408, 'nothing came')
  await t.rejects(tokens.ready()!, { code: 408 })
  state.nowMs = 51_000
  await tokens.ready()
  t.same([state.logins, state.shown], [2, ['r1']])
})

t.test('a token about to expire is not used', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 50_000
  t.equal(tokens.current(), undefined)
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a failed renewal is retried after a pause, and the token stays in use', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 30_000
  state.error = new GatewayError('auth', 503, 'unavailable')
  void tokens.ready()
  await new Promise(setImmediate)
  void tokens.ready()
  t.equal(state.logins + state.shown.length, 2, 'no immediate retry')
  t.equal(tokens.current(), 't1')
  state.nowMs = 31_000
  state.error = undefined
  void tokens.ready()
  await new Promise(setImmediate)
  t.equal(tokens.current(), 't3')
})

t.test('a login error is returned, and the login is not retried immediately', async (t) => {
  const { state, tokens } = open()
  state.error = new GatewayError('auth', 400, 'Secret not correct')
  await t.rejects(tokens.ready()!, { code: 400 })
  await t.rejects(tokens.ready()!, { code: 400 })
  t.equal(state.logins, 1)
  state.nowMs = 1000
  state.error = undefined
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test(
  'with credentials from the file, calls are sent without a token if there is no auth service',
  async (t) => {
    const { state, tokens } = open({ isImplicit: true })
    state.error = new GatewayError('auth', 503, 'unavailable')
    await t.rejects(tokens.ready()!, { code: 503 })
    state.nowMs = 1000
    state.error = new GatewayError('auth', 404, 'service not found: auth')
    await tokens.ready()
    t.equal(tokens.ready(), undefined)
    t.equal(tokens.current(), undefined)
    t.equal(tokens.isRejected('x'), false)
  },
)

t.test('rejected credentials from the file are retried later', async (t) => {
  const { state, tokens } = open({ isImplicit: true })
  state.error = new GatewayError('auth', 400, 'Secret not correct')
  await tokens.ready()
  t.equal(tokens.ready(), undefined, 'no immediate retry')
  state.nowMs = 1000
  state.error = undefined
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a rejected token is not used again', async (t) => {
  const { tokens } = open()
  await tokens.ready()
  t.equal(tokens.isRejected('another'), true)
  t.equal(tokens.current(), 't1')
  t.equal(tokens.isRejected('t1'), true)
  t.equal(tokens.current(), undefined)
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a fixed token never changes', (t) => {
  const tokens = createFixedToken('t')
  t.equal(tokens.ready(), undefined)
  t.equal(tokens.current(), 't')
  t.equal(tokens.isRejected('t'), false)
  t.end()
})
