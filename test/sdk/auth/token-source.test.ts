import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import {
  createFixedToken,
  createTokenSource,
  type LoginReply,
} from '../../../sdk/auth/token-source.ts'

/** Tokens of a minute, on a clock of its own. */
function open({ isGuess = false } = {}) {
  const state = {
    nowMs: 0,
    logins: 0,
    /** Refresh tokens that were shown. */
    shown: [] as string[],
    error: undefined as GatewayError | undefined,
    /** Of refreshing alone. */
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
    isGuess,
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

t.test('it logs in once, when a token is needed', async (t) => {
  const { state, tokens } = open()
  t.equal(tokens.current(), undefined)
  t.equal(tokens.leftMs(), 0)
  t.equal(state.logins, 0)
  await Promise.all([tokens.ready(), tokens.ready()])
  t.equal(tokens.current(), 't1')
  t.equal(tokens.leftMs(), 50_000)
  t.equal(tokens.ready(), undefined)
  t.equal(state.logins, 1)
})

t.test('a token is renewed in the background of calls, before it ends', async (t) => {
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
  t.same([state.logins, state.shown], [1, ['r1']], 'by its refresh token')
  state.nowMs = 60_000
  for (let i = 0; i < 3; i++) void tokens.ready()
  await new Promise(setImmediate)
  t.same([tokens.current(), state.shown], ['t3', ['r1', 'r2']], 'one at a time, with the newest')
})

t.test('a refresh token that is refused is no end: it logs in again', async (t) => {
  for (const code of [400, 401]) {
    const { state, tokens } = open()
    await tokens.ready()
    state.nowMs = 50_000
    state.refusal = new GatewayError('auth', code, 'used before')
    await tokens.ready()
    t.same([state.logins, state.shown, tokens.current()], [2, ['r1'], 't3'])
  }
})

t.test('a refresh token is not used twice, where its answer was lost', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 50_000
  state.refusal = new GatewayError('auth', 408, 'nothing came')
  await t.rejects(tokens.ready()!, { code: 408 })
  state.nowMs = 51_000
  await tokens.ready()
  t.same([state.logins, state.shown], [2, ['r1']])
})

t.test('a token that is about to end is not used any more', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 50_000
  t.equal(tokens.current(), undefined)
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a renewal that fails is tried again, and the token lasts meanwhile', async (t) => {
  const { state, tokens } = open()
  await tokens.ready()
  state.nowMs = 30_000
  state.error = new GatewayError('auth', 503, 'away')
  void tokens.ready()
  await new Promise(setImmediate)
  void tokens.ready()
  t.equal(state.logins + state.shown.length, 2, 'not at once')
  t.equal(tokens.current(), 't1')
  state.nowMs = 31_000
  state.error = undefined
  void tokens.ready()
  await new Promise(setImmediate)
  t.equal(tokens.current(), 't3')
})

t.test('what logging in is answered is told, and it is not tried again at once', async (t) => {
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
  'with credentials that were only found it goes without a token where they are refused',
  async (t) => {
    const { state, tokens } = open({ isGuess: true })
    state.error = new GatewayError('auth', 503, 'away')
    await t.rejects(tokens.ready()!, { code: 503 })
    state.nowMs = 1000
    state.error = new GatewayError('auth', 404, 'service not found: auth')
    await tokens.ready()
    t.equal(tokens.ready(), undefined)
    t.equal(tokens.current(), undefined)
    t.equal(tokens.isRejected('x'), false)
  },
)

t.test('what was refused of credentials that were only found is tried again later', async (t) => {
  const { state, tokens } = open({ isGuess: true })
  state.error = new GatewayError('auth', 400, 'Secret not correct')
  await tokens.ready()
  t.equal(tokens.ready(), undefined, 'not at once')
  state.nowMs = 1000
  state.error = undefined
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a token that was not taken is not shown again', async (t) => {
  const { tokens } = open()
  await tokens.ready()
  t.equal(tokens.isRejected('another'), true)
  t.equal(tokens.current(), 't1')
  t.equal(tokens.isRejected('t1'), true)
  t.equal(tokens.current(), undefined)
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a fixed token stays what it is', (t) => {
  const tokens = createFixedToken('t')
  t.equal(tokens.ready(), undefined)
  t.equal(tokens.current(), 't')
  t.equal(tokens.isRejected('t'), false)
  t.end()
})
