import t from 'tap'
import { createWatchHub, mapFeed } from '../../../sdk/events/watch-hub.ts'

const createHub = (maxWatchers = 10) =>
  createWatchHub<number>({ maxWatchers, maxWaiting: 10, stopping: 'stopping' })

t.test('rejects a watcher beyond the limit with 429 until another one leaves', async (t) => {
  const hub = createHub(1)
  const subscribe = () => () => {}
  const first = hub.open({ id: 'x', namespace: 'mx' }, subscribe)
  t.throws(() => hub.open({ id: 'x', namespace: 'mx' }, subscribe), {
    ...{ code: 429, id: 'x', message: 'limit of 1 watchers reached' },
  })
  await first.return!()
  hub.open({ id: 'x', namespace: 'mx' }, subscribe)
  t.equal(hub.count(), 1)
})

t.test('unsubscribes a watcher that left before its subscription was established', async (t) => {
  const hub = createHub()
  let subscribed = (_: () => void): void => {}
  const subscription = new Promise<() => void>((resolve) => {
    subscribed = resolve
  })
  let unsubscribed = 0
  const feed = hub.open(
    { id: 'x', namespace: 'mx' },
    () => subscription,
    () => t.fail('subscription started'),
  )
  await feed.return!()
  subscribed(() => {
    unsubscribed++
  })
  await subscription
  t.equal(unsubscribed, 1)
})

t.test('a subscription that fails immediately leaves no watcher', async (t) => {
  const hub = createHub()
  const fail = (): never => {
    throw new Error('no')
  }
  t.throws(() => hub.open({ id: 'x', namespace: 'mx' }, fail), { message: 'no' })
  t.equal(hub.count(), 0)
})

t.test('publishes to all watchers; closing ends them with 503', async (t) => {
  const hub = createHub()
  const feeds = [
    hub.open({ id: 'a', namespace: 'mx' }, () => () => {}),
    hub.open({ id: 'b', namespace: 'mx' }, () => () => {}),
  ]
  hub.publish('k', 1)
  for (const feed of feeds) t.equal((await feed.next()).value, 1)
  hub.close()
  for (const feed of feeds) await t.rejects(feed.next(), { code: 503, message: 'stopping' })
  t.equal(hub.isClosed(), true)
  t.throws(() => hub.open({ id: 'x', namespace: 'mx' }, () => () => {}), { code: 503 })
})

t.test('mapFeed skips undefined results and ends the feed with an error of read', async (t) => {
  const hub = createHub()
  const feed = hub.open({ id: 'a', namespace: 'mx' }, () => () => {})
  const read = async (value: number): Promise<string | undefined> => {
    if (value === 3) throw new Error('three')
    return value === 1 ? undefined : String(value)
  }
  const mapped = mapFeed(feed, read)
  for (const value of [1, 2, 3]) hub.publish(String(value), value)
  t.equal((await mapped.next()).value, '2')
  await t.rejects(mapped.next(), { message: 'three' })
  t.equal(hub.count(), 0)
})
