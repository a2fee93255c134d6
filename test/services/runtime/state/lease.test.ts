import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore, type Store } from '../../../../domain/store/store.ts'
import { createLease, type Lease } from '../../../../services/runtime/state/lease.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

interface TestLease {
  readonly lease: Lease
  /** Events received. */
  readonly changes: boolean[]
  readonly renewals: () => number
  /** Makes the store unavailable. */
  readonly disconnect: () => void
}

interface SharedStore {
  readonly clock: { ms: number }
  readonly open: (holder: string) => Promise<TestLease>
}

/** Leases of 50 ms with a stopped clock. */
function share(t: Test): SharedStore {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  const clock = { ms: 1000 }
  return {
    clock,
    async open(holder) {
      let isDisconnected = false
      let renewals = 0
      const commit: Store['commit'] = async (writes) => {
        if (isDisconnected) throw new Error('connection lost')
        const versions = await store.commit(writes)
        renewals++
        return versions
      }
      const changes: boolean[] = []
      const lease = createLease({
        ...{ store: { ...store, commit }, holder, durationMs: 50, elapsedMs: () => clock.ms },
        onChange: (isHolder) => changes.push(isHolder),
      })
      await lease.begin()
      t.teardown(lease.close)
      return { lease, changes, renewals: () => renewals, disconnect: () => (isDisconnected = true) }
    },
  }
}

t.test('grants the lease to one server, and to the next one after its release', async (t) => {
  const { open } = share(t)
  const [one, two] = [await open('one'), await open('two')]
  t.same([one.lease.isLeader(), two.lease.isLeader()], [true, false])
  t.same([one.changes, two.changes], [[true], []])
  await one.lease.close()
  t.equal(one.lease.isLeader(), false)
  await waitUntil(() => two.lease.isLeader())
  t.same(two.changes, [true])
})

t.test('loses the lease before another server acquires it if it cannot renew it', async (t) => {
  const { open, clock } = share(t)
  const [one, two] = [await open('one'), await open('two')]
  one.disconnect()
  clock.ms += 34
  t.equal(one.lease.isLeader(), false)
  await waitUntil(() => one.changes.length === 2)
  t.same([one.changes, two.changes], [[true, false], []])
  clock.ms += 16
  await waitUntil(() => two.lease.isLeader())
  t.equal(one.lease.isLeader(), false)
})

t.test('retains the lease while renewing it', async (t) => {
  const { open, clock } = share(t)
  const [one, two] = [await open('one'), await open('two')]
  for (let i = 0; i < 10; i++) {
    const before = one.renewals()
    clock.ms += 15
    await waitUntil(() => one.renewals() > before)
  }
  t.same([one.changes, two.changes.length], [[true], 0])
})

t.test('takes over a lease of an earlier process of the same server', async (t) => {
  const { open } = share(t)
  const killed = await open('one')
  killed.disconnect()
  t.equal((await open('one')).lease.isLeader(), true)
})
