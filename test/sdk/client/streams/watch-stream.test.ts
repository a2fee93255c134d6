import t, { type Test } from 'tap'
import { invalidToken } from '../../../../core/auth/policy/decision.ts'
import { createFixedToken } from '../../../../sdk/auth/token-source.ts'
import { toWatchStream } from '../../../../sdk/client/streams/watch-stream.ts'
import { createEventFeed } from '../../../../sdk/events/event-feed.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createService, openClient } from '../../../fixtures/sdk-services.ts'

async function open(t: Test, count: number) {
  const service = createService(t, { name: 'counter' })
  service.handle('Counter', {
    count: endpoint({
      stream: 'server',
      *handle() {
        for (let n = 1; n <= count; n++) yield { n }
      },
    }),
  })
  const client = openClient(t, { address: await service.start() })
  return toWatchStream<{ n: number }, number>({
    open: () => client.stream('counter', 'Counter.Count', {}),
    service: 'counter',
    toEvent: ({ n }) => n * 10,
  })
}

t.test('a watch ended by its service fails with 503 after its events', async (t) => {
  const watch = await open(t, 2)
  const received: number[] = []
  await t.rejects(
    (async () => {
      for await (const n of watch) received.push(n)
    })(),
    { id: 'counter', code: 503, message: /^the service ended the watch: watch again/ },
  )
  t.strictSame(received, [10, 20])
  t.strictSame(await watch.next(), { done: true, value: undefined })
})

t.test('a watch whose loop is exited ends without an error', async (t) => {
  const watch = await open(t, 1_000_000)
  for await (const n of watch) if (n === 30) break
  t.strictSame(await watch.next(), { done: true, value: undefined })
})

t.test(
  'before its token expires, a watch moves to a new stream without missing events',
  async (t) => {
    const open = new Set<(n: number) => void>()
    let opened = 0
    const service = createService(t, { name: 'news' }).handle('News', {
      watch: endpoint({
        stream: 'server',
        async *handle(_: unknown, ctx) {
          opened++
          const feed = createEventFeed<number>({ id: 'news', maxWaiting: 1000, onClose() {} })
          const notify = (n: number): void => feed.push(String(n), n)
          open.add(notify)
          ctx.signal.addEventListener('abort', () => {
            open.delete(notify)
            void feed.return!()
          })
          ctx.start()
          for await (const n of feed) yield { n }
        },
      }),
    })
    const client = openClient(t, { address: await service.start() })
    const tokens = { ...createFixedToken('t'), remainingMs: () => 1 }
    const watch = toWatchStream<{ n: number }, number>({
      open: () => client.stream('news', 'News.Watch', {}),
      ...{ service: 'news', toEvent: ({ n }: { n: number }) => n, tokens },
    })
    const received: number[] = []
    const reading = (async () => {
      for await (const n of watch) {
        received.push(n)
        if (opened >= 4) break
      }
    })()
    await waitUntil(() => open.size > 0)
    let notifications = 0
    await waitUntil(() => {
      for (const notify of open) notify(notifications)
      notifications++
      return opened >= 4
    })
    await reading
    const last = Math.max(...received)
    t.same(
      [...new Set(received)].sort((a, b) => a - b),
      Array.from({ length: last + 1 }, (_, n) => n),
    )
    await waitUntil(() => open.size === 0)
  },
)

t.test('a token renewed after the start does not extend the token of the stream', async (t) => {
  let opened = 0
  const service = createService(t, { name: 'news' }).handle('News', {
    watch: endpoint({
      stream: 'server',
      async *handle(_: unknown, ctx) {
        opened++
        ctx.start()
        yield { n: opened }
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      },
    }),
  })
  const client = openClient(t, { address: await service.start() })
  // The token is renewed by the time the stream starts.
  const tokens = { ...createFixedToken('t'), remainingMs: () => (opened === 0 ? 1 : 1_000_000) }
  const watch = toWatchStream<{ n: number }, number>({
    open: () => client.stream('news', 'News.Watch', {}),
    ...{ service: 'news', toEvent: ({ n }: { n: number }) => n, tokens },
  })
  const events = [await watch.next(), await watch.next()]
  t.same(
    events.map(({ value }) => value),
    [1, 2],
  )
  await watch.return!()
})

t.test('a watch with an invalid token fails with 503, so that it is restarted', async (t) => {
  const service = createService(t, { name: 'news' }).handle('News', {
    watch: endpoint({
      stream: 'server',
      async *handle() {
        yield { n: 1 }
        throw invalidToken('news')
      },
    }),
  })
  const client = openClient(t, { address: await service.start() })
  const watch = toWatchStream<{ n: number }, number>({
    open: () => client.stream('news', 'News.Watch', {}),
    ...{ service: 'news', toEvent: ({ n }: { n: number }) => n },
  })
  t.match(await watch.next(), { value: 1 })
  await t.rejects(watch.next(), { code: 503, message: /watch again/ })
  t.match(await watch.next(), { done: true })
})
