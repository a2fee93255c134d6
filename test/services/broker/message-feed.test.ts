import t from 'tap'
import type { Message } from '../../../core/contracts/broker.ts'
import { createMessageFeed } from '../../../services/broker/message-feed.ts'

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

t.test('a message is taken when the subscriber gets it, not before', async (t) => {
  const { feed, read } = open()
  let taken = false
  const taking = Promise.resolve(feed.take(toMessage('1'))).then(() => {
    taken = true
  })
  await new Promise(setImmediate)
  t.equal(taken, false)
  t.equal(await read(), '1')
  await taking
  const reading = read()
  t.equal(feed.take(toMessage('2')), undefined, 'whoever waits for it gets it at once')
  t.equal(await reading, '2')
})

t.test('a feed that has ended takes nothing, and lets go of what it held', async (t) => {
  for (const finish of ['end', 'return'] as const) {
    const { feed, read, closed } = open()
    const taking = feed.take(toMessage('1'))
    await feed[finish]!()
    await taking
    t.equal(await read(), undefined)
    t.equal(feed.take(toMessage('2')), undefined)
    await feed.return!()
    t.equal(closed(), 1)
  }
  const { feed, read } = open()
  const reading = read()
  feed.end()
  t.equal(await reading, undefined)
})

t.test('a feed that fails says why, now and later', async (t) => {
  const { feed, read } = open()
  const reading = read()
  feed.fail(new Error('too slow'))
  await t.rejects(reading, { message: 'too slow' })
  await t.rejects(read(), { message: 'too slow' })
})
