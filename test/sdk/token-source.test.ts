import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import { createFixedToken, createTokenSource, type LoginReply } from '../../sdk/token-source.ts'

/** Tokens of a minute, on a clock of its own. */
function open({ isGuess = false } = {}) {
  const state = { nowMs: 0, logins: 0, error: undefined as GatewayError | undefined }
  const tokens = createTokenSource({
    isGuess,
    nowMs: () => state.nowMs,
    async logIn(): Promise<LoginReply> {
      state.logins++
      if (state.error !== undefined) throw state.error
      return { token: { access_token: `t${state.logins}`, created: 1000, expiry: 1060 } }
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
  t.equal(state.logins, 2, 'not at once')
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
    t.equal(tokens.refused('x'), false)
  },
)

t.test('a token that was not taken is not shown again', async (t) => {
  const { tokens } = open()
  await tokens.ready()
  t.equal(tokens.refused('another'), true)
  t.equal(tokens.current(), 't1')
  t.equal(tokens.refused('t1'), true)
  t.equal(tokens.current(), undefined)
  await tokens.ready()
  t.equal(tokens.current(), 't2')
})

t.test('a fixed token stays what it is', (t) => {
  const tokens = createFixedToken('t')
  t.equal(tokens.ready(), undefined)
  t.equal(tokens.current(), 't')
  t.equal(tokens.refused('t'), false)
  t.end()
})
