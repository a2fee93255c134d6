import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Message } from '../../../core/contracts/broker.ts'
import { Delivery } from '../../../domain/broker/delivery.ts'

const SUBSCRIPTION = { topic: 'orders', queue: undefined }

function toMessage(text: string): Message {
  return { headers: {}, body: Buffer.from(text) }
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

t.test('never calls a subscriber on the stack of a publisher', async (t) => {
  const received: string[] = []
  const { push } = new Delivery(SUBSCRIPTION, ({ body }) => {
    received.push(body.toString())
  })
  push(toMessage('1'))
  t.same(received, [])
  await waitUntil(() => received.length > 0)
  t.same(received, ['1'])
})

t.test('delivers messages in order, one at a time', async (t) => {
  const log: string[] = []
  const { push } = new Delivery(SUBSCRIPTION, async ({ body }) => {
    log.push(`begin ${body}`)
    await turn()
    log.push(`end ${body}`)
    if (body.toString() === '2') push(toMessage('4'))
  })
  for (const text of ['1', '2', '3']) push(toMessage(text))
  await waitUntil(() => log.length === 8)
  t.same(
    log,
    ['1', '2', '3', '4'].flatMap((text) => [`begin ${text}`, `end ${text}`]),
  )
})

t.test('bounds pending bytes including headers, and still passes a long message', async (t) => {
  const received: number[] = []
  const drops: number[] = []
  const delivery = new Delivery(
    SUBSCRIPTION,
    ({ body }) => {
      received.push(body.length)
    },
    { maxWaitingBytes: 100, onDrop: (_, count) => drops.push(count) },
  )
  delivery.push(toMessage('x'.repeat(500)))
  delivery.push(toMessage('x'))
  await waitUntil(() => received.length === 1)
  delivery.push({ headers: { a: 'x'.repeat(59) }, body: new Uint8Array(20) })
  delivery.push(toMessage('x'.repeat(21)))
  delivery.push(toMessage('x'.repeat(20)))
  delivery.push(toMessage('x'))
  await waitUntil(() => received.length === 3)
  t.same(received, [500, 20, 20])
  t.equal(delivery.dropped, 3)
  await waitUntil(() => drops.length === 3)
  t.same(
    drops,
    [1, 1, 1],
    'the second report is split: one drop is reported immediately, the other after catching up',
  )
})

t.test('yields to the event loop if a subscriber publishes to itself', async (t) => {
  let count = 0
  const delivery = new Delivery(SUBSCRIPTION, (message) => {
    count++
    delivery.push(message)
  })
  delivery.push(toMessage('again'))
  for (let i = 0; i < 5; i++) await turn()
  t.ok(count > 0 && count < 10_000, `${count} messages in five ticks`)
  delivery.close()
})

t.test('yields to the event loop between resolved promises', async (t) => {
  let count = 0
  const delivery = new Delivery(SUBSCRIPTION, (message) => {
    count++
    delivery.push(message)
    return Promise.resolve()
  })
  delivery.push(toMessage('again'))
  for (let i = 0; i < 5; i++) await turn()
  t.ok(count > 0 && count <= 600, `${count} messages in five ticks`)
  delivery.close()
})

t.test('delivers nothing after close and reports earlier drops', async (t) => {
  const received: string[] = []
  const drops: number[] = []
  const delivery = new Delivery(
    SUBSCRIPTION,
    ({ body }) => {
      received.push(body.toString())
      delivery.close()
    },
    { maxWaiting: 2, onDrop: (_, count) => drops.push(count) },
  )
  for (const text of ['1', '2', '3', '4', '5']) delivery.push(toMessage(text))
  await waitUntil(() => received.length > 0)
  delivery.push(toMessage('6'))
  delivery.close()
  await turn()
  await turn()
  t.same(received, ['1'])
  t.same(drops, [1, 2])
  t.equal(delivery.dropped, 3, 'messages after close are not counted as dropped')
})

t.test('emits process warnings for drops and errors without a callback', async (t) => {
  const warnings = t.capture(process, 'emitWarning', () => {})
  const delivery = new Delivery(
    SUBSCRIPTION,
    () => {
      throw new Error('a faulty subscriber')
    },
    { maxWaiting: 1 },
  )
  delivery.push(toMessage('1'))
  delivery.push(toMessage('2'))
  const events: string[] = []
  await waitUntil(() => {
    for (const { args } of warnings()) events.push(String(args[0]))
    return events.length >= 2
  })
  t.match(events, [
    /^a subscriber of orders is too slow: messages dropped: 1$/,
    /^a subscriber of orders failed: Error: a faulty subscriber/,
  ])
})

t.test('with whenSlow: drop-old the oldest messages are dropped', async (t) => {
  const received: string[] = []
  const drops: number[] = []
  let release = (): void => {}
  const delivery = new Delivery(
    SUBSCRIPTION,
    async ({ body }) => {
      received.push(body.toString())
      if (received.length === 1)
        await new Promise<void>((resolve) => {
          release = resolve
        })
    },
    {
      whenSlow: 'drop-old',
      maxWaiting: 3,
      maxWaitingBytes: 10,
      onDrop: (_, count) => drops.push(count),
    },
  )
  delivery.push(toMessage('0'))
  await waitUntil(() => received.length === 1)
  for (const text of ['1', '2', '3', '4', '5']) delivery.push(toMessage(text))
  delivery.push(toMessage('123456789'))
  t.equal(delivery.dropped, 4)
  t.same(drops, [1])
  release()
  await waitUntil(() => drops.length === 2)
  t.same(received, ['0', '5', '123456789'])
  t.same(drops, [1, 3])
  delivery.push(toMessage('x'.repeat(50)))
  await waitUntil(() => received.length === 4)
  t.equal(delivery.dropped, 4, 'a single message is accepted at any length')
})

t.test('with whenSlow: end a slow subscriber is disconnected', async (t) => {
  const received: string[] = []
  const drops: number[] = []
  let endCount = 0
  const delivery = new Delivery(
    SUBSCRIPTION,
    ({ body }) => {
      received.push(body.toString())
    },
    { whenSlow: 'end', maxWaiting: 2, onDrop: (_, count) => drops.push(count) },
    () => {
      endCount++
    },
  )
  for (const text of ['1', '2']) delivery.push(toMessage(text))
  await waitUntil(() => received.length === 2)
  for (const text of ['3', '4', '5', '6']) delivery.push(toMessage(text))
  await turn()
  await turn()
  t.same(received, ['1', '2'], 'queued messages are dropped')
  t.same(drops, [3])
  t.equal(delivery.dropped, 3)
  t.equal(endCount, 1)
})

t.test('reports the drops of a subscriber that stays slow', async (t) => {
  const drops: number[] = []
  const delivery = new Delivery(SUBSCRIPTION, () => new Promise(() => {}), {
    ...{ maxWaiting: 1, reportMs: 1 },
    onDrop: (_, count) => drops.push(count),
  })
  for (let i = 0; i < 100; i++) delivery.push(toMessage('x'))
  t.same(drops, [1])
  await waitUntil(() => drops.length === 2)
  t.same(drops, [1, 98], 'one message is queued')
  delivery.close()
})
