import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { createWatchers } from '../../../services/auth/watchers.ts'

const ID = 'auth.Auth.Watch'

/** Tells one thing, then nothing until it is given up. */
async function* tell(signal: AbortSignal): AsyncIterable<string> {
  yield 'news'
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

t.test('who watches is told, until they leave', async (t) => {
  const watchers = createWatchers(1)
  const stop = new AbortController()
  const ctx = createContext({ signal: stop.signal })
  const told = watchers.open(ctx, ID, tell)[Symbol.asyncIterator]()
  t.same(await told.next(), { done: false, value: 'news' })
  t.throws(() => watchers.open(ctx, ID, tell), { id: ID, code: 429 })
  const end = told.next()
  stop.abort()
  t.same(await end, { done: true, value: undefined })
  const next = watchers.open(createContext(), ID, tell)[Symbol.asyncIterator]()
  t.match(await next.next(), { value: 'news' }, 'there is room for another')
  watchers.close()
})

t.test('who watches when it is closed gets an error, as does who comes then', async (t) => {
  const watchers = createWatchers(10)
  const told = watchers.open(createContext(), ID, tell)[Symbol.asyncIterator]()
  await told.next()
  const end = t.rejects(told.next(), { id: ID, code: 503 })
  watchers.close()
  await end
  t.throws(() => watchers.open(createContext(), ID, tell), { id: ID, code: 503 })
})
