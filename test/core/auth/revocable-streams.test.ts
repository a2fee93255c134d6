import t, { type Test } from 'tap'
import { OpenStreams, type OpenStreamsOptions } from '../../../core/auth/revocable-streams.ts'
import { runSteps } from '../../../core/chain.ts'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { compileChain } from '../../../core/plugin/compile-chain.ts'
import { createTestExchange, type TestExchange } from '../../../sdk/testing.ts'
import { createAccount } from '../../fixtures/auth-source.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'

const DENIED = new GatewayError('app', 401, 'denied')

function open(t: Test, reauthorize: OpenStreamsOptions['reauthorize']) {
  const streams = new OpenStreams({ reauthorize, toRevokedError: () => DENIED, nowMs: Date.now })
  t.teardown(streams.close)
  const plugin = { name: 'auth', onReply: streams.onReply, onDone: streams.onDone }
  const startStream = (endsMs = Number.POSITIVE_INFINITY): TestExchange => {
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
  return { streams, startStream }
}

t.test(
  'a stream is cut on review once its access is denied, but a complete response is not',
  async (t) => {
    let granted = true
    const { streams, startStream } = open(t, () => (granted ? undefined : DENIED))
    const x = startStream()
    x.start(200, new HeaderList(), -1)
    const complete = startStream()
    complete.reply(200, 'all of it')
    streams.review()
    t.notOk(x.finished)
    granted = false
    streams.review()
    t.ok(x.wasCut)
    t.notOk(complete.wasCut)
  },
)

t.test('a stream is cut after an asynchronous decision', async (t) => {
  const { streams, startStream } = open(t, async () => DENIED)
  const x = startStream()
  x.start(200, new HeaderList(), -1)
  streams.review()
  await x.done
  t.ok(x.wasCut)
})

t.test('a stream that starts after a review is reviewed when it starts', async (t) => {
  const { streams, startStream } = open(t, () => DENIED)
  const x = startStream()
  streams.review()
  t.notOk(x.finished)
  x.start(200, new HeaderList(), -1)
  t.notOk(x.finished, 'not within start()')
  await x.done
  t.ok(x.wasCut)
})

t.test('onRevoke of a peer ends the stream with the reason instead of cutting it', async (t) => {
  const { streams, startStream } = open(t, () => DENIED)
  const x = startStream()
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

t.test('a stream is cut when its session expires', async (t) => {
  const { startStream } = open(t, () => undefined)
  const x = startStream(Date.now())
  const other = startStream()
  x.start(200, new HeaderList(), -1)
  other.start(200, new HeaderList(), -1)
  // The timer under test is unreferenced.
  keepAlive(t)
  await x.done
  t.ok(x.wasCut)
  t.notOk(other.finished)
})
