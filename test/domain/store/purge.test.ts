import t from 'tap'
import type { StoreAdapter, StoreKey } from '../../../core/contracts/store.ts'
import { startPurge } from '../../../domain/store/purge.ts'

const PLACE: StoreKey = { table: { database: 'mx', table: 'things' }, key: 'a' }

/** Purge results of an adapter in order; the last one is repeated, and errors are thrown. */
function open(answers: readonly (readonly StoreKey[] | Error)[]) {
  const seen = { calls: 0, purged: 0, errors: 0 }
  const adapter = {
    purge: () => {
      const response = answers[Math.min(seen.calls++, answers.length - 1)]!
      if (response instanceof Error) throw response
      return response
    },
  } as unknown as StoreAdapter
  const stop = startPurge(adapter, {
    everyMs: 1,
    nowMs: () => 0,
    onPurged: (places) => {
      seen.purged += places.length
    },
    onError: () => seen.errors++,
  })
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return { seen, stop, until }
}

t.test('purges periodically, and immediately if there is more', async (t) => {
  const full = Array.from({ length: 1000 }, () => PLACE)
  const { seen, stop, until } = open([full, full, [PLACE], []])
  t.teardown(stop)
  await until(() => seen.calls >= 5)
  t.equal(seen.purged, 2001)
})

t.test('reports a failure once until it succeeds again', async (t) => {
  const error = new Error('full')
  const { seen, stop, until } = open([error, error, [], error, error, error, []])
  t.teardown(stop)
  await until(() => seen.calls >= 8)
  t.equal(seen.errors, 2)
})

t.test('stops after close', async (t) => {
  const { seen, stop, until } = open([[]])
  await until(() => seen.calls > 0)
  await stop()
  const { calls } = seen
  const other = open([[]])
  t.teardown(other.stop)
  await until(() => other.seen.calls >= 5)
  t.equal(seen.calls, calls)
})

t.test('skips adapters that purge themselves', async () => {
  const adapter = {} as StoreAdapter
  const stop = startPurge(adapter, { everyMs: 1, nowMs: () => 0, onPurged() {}, onError() {} })
  await stop()
})
