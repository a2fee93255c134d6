import t, { type Test } from 'tap'
import { OpenStreams, type OpenStreamsOptions } from '../../../core/auth/revocable-streams.ts'
import { compileChain, runSteps } from '../../../core/chain.ts'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { createTestExchange, type TestExchange } from '../../../sdk/testing.ts'
import { createAccount } from '../../fixtures/auth-source.ts'

const DENIED = new GatewayError('app', 401, 'denied')

function open(t: Test, judge: OpenStreamsOptions['judge']) {
  const streams = new OpenStreams({ judge, toEnded: () => DENIED, nowMs: Date.now })
  t.teardown(streams.close)
  const plugin = { name: 'auth', onReply: streams.onReply, onDone: streams.onDone }
  const begin = (endsMs = Number.POSITIVE_INFINITY): TestExchange => {
    const x = createTestExchange()
    x.session = { account: createAccount(), id: '', issuedMs: 0, endsMs }
    const chain = compileChain(
      [plugin],
      () => {
        x.route = { service: 'app', endpoint: '' }
      },
      () => {},
    )
    x.begin(
      chain,
      () => {},
      (error) => t.fail(String(error)),
    )
    void runSteps(chain.steps, x)
    return x
  }
  return { streams, begin }
}

t.test('replies in pieces are judged again, and cut when they are granted no more', async (t) => {
  let granted = true
  const { streams, begin } = open(t, () => (granted ? undefined : DENIED))
  const x = begin()
  x.start(200, new HeaderList(), -1)
  const whole = begin()
  whole.reply(200, 'all of it')
  streams.review()
  t.notOk(x.finished)
  granted = false
  streams.review()
  t.ok(x.wasCut)
  t.notOk(whole.wasCut)
})

t.test('judging may take time', async (t) => {
  const { streams, begin } = open(t, async () => DENIED)
  const x = begin()
  x.start(200, new HeaderList(), -1)
  streams.review()
  await x.done
  t.ok(x.wasCut)
})

t.test(
  'one that was let in before a change, and begins to answer after it, is judged then',
  async (t) => {
    const { streams, begin } = open(t, () => DENIED)
    const x = begin()
    streams.review()
    t.notOk(x.finished)
    x.start(200, new HeaderList(), -1)
    t.notOk(x.finished, 'not in the midst of its beginning')
    await x.done
    t.ok(x.wasCut)
  },
)

t.test('who streams is told why it ends, where it can say so', async (t) => {
  const { streams, begin } = open(t, () => DENIED)
  const x = begin()
  x.start(200, new HeaderList(), -1)
  x.setPeer({
    onRequestBody: () => {},
    onDrain: () => {},
    onAbort: () => {},
    onRevoke: ({ message }) => {
      x.write(Buffer.from(message))
      x.end()
    },
  })
  streams.review()
  await x.done
  t.equal(x.body, 'denied')
  t.notOk(x.wasCut)
})

t.test('a stream ends with what its caller is known by', async (t) => {
  const { begin } = open(t, () => undefined)
  const x = begin(Date.now())
  const other = begin()
  x.start(200, new HeaderList(), -1)
  other.start(200, new HeaderList(), -1)
  // The timer alone keeps no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  await x.done
  t.ok(x.wasCut)
  t.notOk(other.finished)
})
