import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Message } from '../../../core/contracts/broker.ts'
import { createMessageFeed } from '../../../services/broker/message-feed.ts'
import { eventually } from '../../fixtures/eventually.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const toMessage = (text: string): Message => ({ headers: {}, body: Buffer.from(text) })

function open() {
  let closed = 0
  const feed = createMessageFeed(() => {
    closed++
  })
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await feed.next()
    return done === true ? undefined : Buffer.from(value.body).toString()
  }
  return { feed, read, closed: () => closed }
}

t.test(
  'returns messages in order, and returns a message immediately to a pending read',
  async (t) => {
    const { feed, read } = open()
    for (const text of ['1', '2']) t.equal(feed.take(toMessage(text)), undefined)
    t.same([await read(), await read()], ['1', '2'])
    const reading = read()
    t.equal(feed.take(toMessage('3')), undefined)
    t.equal(await reading, '3')
  },
)

t.test('the buffer is limited by the number of messages and bytes', async (t) => {
  for (const [size, maxMessages] of [
    [1, 256],
    [100 * 1024, 11],
    [2 * 1024 * 1024, 1],
  ] as const) {
    const { feed, read } = open()
    const message = toMessage('x'.repeat(size))
    let received = 1
    let pendingTake = feed.take(message)
    while (pendingTake === undefined) {
      pendingTake = feed.take(message)
      received++
    }
    t.equal(received, maxMessages)
    let isAccepted = false
    const pending = Promise.resolve(pendingTake).then(() => {
      isAccepted = true
    })
    await new Promise(setImmediate)
    t.equal(isAccepted, false)
    await read()
    await pending
    t.equal(isAccepted, true)
  }
})

t.test('a subscriber that always lags retains only its buffered messages in memory', async (t) => {
  const { feed, read } = open()
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  const take = (text: string): unknown => {
    const message = toMessage(text)
    registry.register(message, undefined)
    return feed.take(message)
  }
  let next = 0
  while (take(`${next++}`) === undefined);
  for (let i = 0; i < 2000; i++) {
    if ((await read()) !== `${i}`) t.fail(`${i} is out of order`)
    take(`${next++}`)
  }
  await eventually(async () => {
    collect()
    return collected >= 2000 - 256
  })
})

t.test('a closed feed accepts no messages and settles pending writes', async (t) => {
  const { feed, read, closed } = open()
  const pendingTake = feed.take(toMessage('x'.repeat(2 * 1024 * 1024)))
  await feed.return!()
  await pendingTake
  t.equal(await read(), undefined)
  t.equal(feed.take(toMessage('2')), undefined)
  await feed.return!()
  t.equal(closed(), 1)
})

t.test('a failed feed rejects the pending read and every later one with its error', async (t) => {
  const { feed, read } = open()
  const reading = read()
  feed.fail(new Error('too slow'))
  await t.rejects(reading, { message: 'too slow' })
  await t.rejects(read(), { message: 'too slow' })
})
