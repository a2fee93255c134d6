import t from 'tap'
import type { Plugin, Step } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { InternalExchange } from '../../core/internal-exchange.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { createTestExchange } from '../../sdk/testing.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

const TIMEOUT_MS = 60_000

function open(handle: Step, plugins: readonly Plugin[] = []) {
  const chain = compileChain(plugins, () => {}, handle)
  const source = createTestExchange({
    ...{ method: 'HEAD', path: '/a?b=1', host: 'a.example', headers: { 'x-a': '1' } },
    ...{ secure: true, remoteAddress: '10.0.0.1' },
  })
  source.namespace = 'shop'
  source.route = { service: 'test', endpoint: '' }
  const faults: unknown[] = []
  let finished = 0
  const run = async (x = new InternalExchange(source, TIMEOUT_MS)) => {
    await x.forward(
      chain,
      () => finished++,
      (error) => faults.push(error),
    )
    return x
  }
  return { source, run, faults, finished: () => finished }
}

t.test('repeats a routed request as GET, with separate headers', async (t) => {
  let seen: Exchange | undefined
  const { source, run, finished } = open((x) => {
    seen = x
    x.headers.set('x-a', '2')
    x.reply(200, 'text')
  })
  await run()
  t.match(seen, {
    ...{ method: 'GET', path: '/a', query: 'b=1', host: 'a.example', secure: true },
    ...{ namespace: 'shop', remoteAddress: '10.0.0.1', status: 200 },
  })
  t.equal(seen!.route, source.route)
  t.equal(source.headers.get('x-a'), '1')
  t.equal(finished(), 1)
})

t.test('runs the handler and response hooks, but no request hooks again', async (t) => {
  const calls: string[] = []
  const { run } = open(
    (x) => {
      x.start(200, new HeaderList(), -1)
      t.equal(x.write(Buffer.from('a')), true)
      x.end()
    },
    [
      {
        name: 'all',
        onRequest: () => void calls.push('onRequest'),
        onRoute: () => void calls.push('onRoute'),
        onForward: () => void calls.push('onForward'),
        onReply: () => calls.push('onReply'),
        onDone: () => calls.push('onDone'),
      },
    ],
  )
  await run()
  t.strictSame(calls, ['onReply', 'onDone'])
})

t.test('reports unexpected errors and ends', async (t) => {
  for (const [error, count] of [
    [new Error('oops'), 1],
    [new GatewayError('', 503, 'busy'), 0],
  ] as const) {
    const { run, faults, finished } = open(() => {
      throw error
    })
    const x = await run()
    t.equal(x.status, error instanceof GatewayError ? 503 : 500)
    t.equal(faults.length, count)
    t.equal(finished(), 1)
  }
})

t.test('can be canceled before and during its response', async (t) => {
  const waiting = open(() => {})
  const x = await waiting.run()
  x.cancel('test')
  x.cancel('test')
  t.strictSame([x.status, waiting.finished()], [504, 1])
  const streaming = open((y) => y.start(200, new HeaderList(), -1))
  const y = await streaming.run()
  y.cancel('test')
  t.strictSame([y.aborted, streaming.finished()], [true, 1])
})

t.test('ends after its timeout', async (t) => {
  const { source, run } = open(() => {})
  const x = await run(new InternalExchange(source, 1))
  await waitUntil(() => x.finished)
  t.equal(x.status, 504)
})

t.test('is not a WebSocket', async (t) => {
  const { source } = open(() => {})
  const x = new InternalExchange(source, TIMEOUT_MS)
  await t.rejects(x.tunnel())
  t.equal(x.accept(), undefined)
  x.cancel('test')
})
