import t from 'tap'
import { createEventFeed } from '../../../sdk/events/event-feed.ts'

function open(maxWaiting = 3) {
  const closes = { count: 0 }
  const feed = createEventFeed<number>({
    id: 'registry.Registry.Watch',
    maxWaiting,
    onClose: () => void closes.count++,
  })
  const take = async (): Promise<number | undefined> => (await feed.next()).value
  return { feed, take, closes }
}

t.test('events are delivered in order, whether queued or awaited', async (t) => {
  const { feed, take } = open()
  feed.push('a', 1)
  feed.push('b', 2)
  t.strictSame([await take(), await take()], [1, 2])
  const pending = take()
  feed.push('a', 3)
  feed.push('a', 4)
  t.strictSame([await pending, await take()], [3, 4])
})

t.test('the last event of each key is queued', async (t) => {
  const { feed, take } = open()
  for (let i = 0; i < 1000; i++) feed.push(`k${i % 3}`, i)
  t.strictSame([await take(), await take(), await take()], [999, 997, 998])
})

t.test('too many queued keys end the feed with 503 and clear the queue', async (t) => {
  const { feed, closes } = open()
  for (const key of ['a', 'b', 'c']) feed.push(key, 1)
  t.equal(closes.count, 0)
  feed.push('d', 1)
  feed.push('e', 1)
  t.equal(closes.count, 1)
  for (let i = 0; i < 2; i++)
    await t.rejects(feed.next(), {
      id: 'registry.Registry.Watch',
      code: 503,
      message:
        'the watcher is too slow: more than 3 changes are pending; watch again and re-read the list',
    })
})

t.test('return ends the feed once, for pending and later reads', async (t) => {
  const { feed, closes } = open()
  const pending = feed.next()
  await feed.return?.()
  feed.end('late')
  feed.push('a', 1)
  t.strictSame(await pending, { done: true, value: undefined })
  t.strictSame(await feed.next(), { done: true, value: undefined })
  t.equal(closes.count, 1)
})

t.test('end() rejects pending and later reads with 503', async (t) => {
  const { feed, closes } = open()
  const pending = feed.next()
  feed.end('the service is being stopped')
  await feed.return?.()
  const error = {
    id: 'registry.Registry.Watch',
    code: 503,
    message: 'the service is being stopped',
  }
  await t.rejects(pending, error)
  await t.rejects(feed.next(), error)
  t.equal(closes.count, 1)
})

t.test('a feed can be iterated', async (t) => {
  const { feed, closes } = open()
  feed.push('a', 1)
  for await (const event of feed) {
    t.equal(event, 1)
    break
  }
  t.equal(closes.count, 1, 'exiting the loop closes the feed')
})

t.test('fail() rejects pending and later reads, and drops later events', async (t) => {
  const { feed, take, closes } = open()
  const pending = take()
  feed.fail(new Error('lost'))
  feed.push('a', 1)
  await t.rejects(pending, { message: 'lost' })
  await t.rejects(take(), { message: 'lost' })
  t.equal(closes.count, 1)
})
