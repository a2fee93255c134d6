import t from 'tap'
import type { StoreAdapter, StoreKey } from '../../../core/contracts/store.ts'
import { startPurge } from '../../../domain/store/purge.ts'

const STORE_KEY: StoreKey = { table: { database: 'mx', table: 'things' }, key: 'a' }

/** Purge results of an adapter in order; the last one is repeated, and errors are thrown. */
function open(results: readonly (readonly StoreKey[] | Error)[]) {
  const counts = { calls: 0, purged: 0, errors: 0 }
  const adapter = {
    purge: () => {
      const response = results[Math.min(counts.calls++, results.length - 1)]!
      if (response instanceof Error) throw response
      return response
    },
  } as unknown as StoreAdapter
  const stop = startPurge(adapter, {
    everyMs: 1,
    nowMs: () => 0,
    onPurged: (keys) => {
      counts.purged += keys.length
    },
    onError: () => counts.errors++,
  })
  const waitUntil = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return { counts, stop, waitUntil }
}

t.test('purges periodically, and immediately if there is more', async (t) => {
  const full = Array.from({ length: 1000 }, () => STORE_KEY)
  const { counts, stop, waitUntil } = open([full, full, [STORE_KEY], []])
  t.teardown(stop)
  await waitUntil(() => counts.calls >= 5)
  t.equal(counts.purged, 2001)
})

t.test('reports a failure once until it succeeds again', async (t) => {
  const error = new Error('full')
  const { counts, stop, waitUntil } = open([error, error, [], error, error, error, []])
  t.teardown(stop)
  await waitUntil(() => counts.calls >= 8)
  t.equal(counts.errors, 2)
})

t.test('stops after close', async (t) => {
  const { counts, stop, waitUntil } = open([[]])
  await waitUntil(() => counts.calls > 0)
  await stop()
  const { calls } = counts
  const other = open([[]])
  t.teardown(other.stop)
  await waitUntil(() => other.counts.calls >= 5)
  t.equal(counts.calls, calls)
})

t.test('skips adapters that purge themselves', async () => {
  const adapter = {} as StoreAdapter
  const stop = startPurge(adapter, { everyMs: 1, nowMs: () => 0, onPurged() {}, onError() {} })
  await stop()
})
