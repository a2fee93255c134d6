import t, { type Test } from 'tap'
import { endpoint } from '../../sdk/endpoint.ts'
import { toWatchStream } from '../../sdk/watch-stream.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'

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
  const stream = client.stream<unknown, { n: number }>('counter', 'Counter.Count', {})
  return toWatchStream(stream, 'counter', ({ n }) => n * 10)
}

t.test('a watch that its service ends is an error, behind what it told', async (t) => {
  const watch = await open(t, 2)
  const seen: number[] = []
  await t.rejects(
    (async () => {
      for await (const n of watch) seen.push(n)
    })(),
    { id: 'counter', code: 503, message: /^the service ended the watch: watch again/ },
  )
  t.strictSame(seen, [10, 20])
  t.strictSame(await watch.next(), { done: true, value: undefined })
})

t.test('one that is left just ends', async (t) => {
  const watch = await open(t, 1_000_000)
  for await (const n of watch) if (n === 30) break
  t.strictSame(await watch.next(), { done: true, value: undefined })
})
