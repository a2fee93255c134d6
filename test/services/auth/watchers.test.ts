import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { createWatchers } from '../../../services/auth/watchers.ts'

const ID = 'auth.Auth.Watch'

/** Yields one value, then nothing until it is aborted. */
async function* publish(signal: AbortSignal): AsyncIterable<string> {
  yield 'news'
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

t.test('streams until the watcher unsubscribes', async (t) => {
  const watchers = createWatchers(1)
  const stop = new AbortController()
  const ctx = createContext({ signal: stop.signal })
  const updates = watchers.open(ctx, ID, publish)[Symbol.asyncIterator]()
  t.same(await updates.next(), { done: false, value: 'news' })
  t.throws(() => watchers.open(ctx, ID, publish), { id: ID, code: 429 })
  const end = updates.next()
  stop.abort()
  t.same(await end, { done: true, value: undefined })
  const next = watchers.open(createContext(), ID, publish)[Symbol.asyncIterator]()
  t.match(await next.next(), { value: 'news' }, 'a slot is free again')
  watchers.close()
})

t.test('reserves slots for watchers that enforce rules', async (t) => {
  const watchers = createWatchers(20)
  t.teardown(watchers.close)
  const begin = async (account?: object) => {
    const metadata = account === undefined ? {} : { 'mx-account': JSON.stringify(account) }
    const updates = watchers.open(createContext({ metadata }), ID, publish)[Symbol.asyncIterator]()
    return (await updates.next()).value
  }
  const jane = { id: 'jane', type: 'user', issuer: 'mx', scopes: [] }
  t.equal(await begin(), 'news')
  t.equal(await begin(jane), 'news')
  for (const account of [undefined, jane]) await t.rejects(begin(account), { code: 429 })
  t.equal(await begin({ ...jane, type: 'service' }), 'news')
  for (let i = 3; i < 20; i++) t.equal(await begin({ ...jane, scopes: ['admin'] }), 'news')
  await t.rejects(begin({ ...jane, scopes: ['admin'] }), { code: 429 })
})

t.test('ends watches with an error on close and rejects new ones', async (t) => {
  const watchers = createWatchers(10)
  const updates = watchers.open(createContext(), ID, publish)[Symbol.asyncIterator]()
  await updates.next()
  const end = t.rejects(updates.next(), { id: ID, code: 503 })
  watchers.close()
  await end
  t.throws(() => watchers.open(createContext(), ID, publish), { id: ID, code: 503 })
})
