import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { storeFull } from '../../../domain/store/errors.ts'
import type { WatchEvent } from '../../../services/store/watches.ts'
import { openPlatformStore } from '../../fixtures/platform-store.ts'
import { openRegistry } from '../../fixtures/sdk-services.ts'

t.test('the registry lists the endpoints of the store service', async (t) => {
  const registry = openRegistry(t)
  await openPlatformStore(t, { registry })
  const [service] = await registry.getService('store')
  t.strictSame(
    service!.endpoints.map(({ name, metadata }) => `${name} ${metadata['stream'] ?? ''}`.trim()),
    [
      'Store.Read',
      'Store.Write',
      'Store.Delete',
      'Store.List true',
      'Store.Databases',
      'Store.Tables',
      'Store.Watch true',
      'BlobStore.Read true',
      'BlobStore.Write true',
      'BlobStore.Delete',
      'BlobStore.List',
    ],
  )
})

t.test('Watch streams writes, deletions and expiries until the service stops', async (t) => {
  const { call, stream, clock, close } = await openPlatformStore(t)
  const events = stream<WatchEvent>('Watch', { options: { prefix: 'a' } })
  const first = events.next()
  // Writes until the first event arrives, because only that shows that the watch has started.
  let isReceived = false
  void first.then(() => {
    isReceived = true
  })
  while (!isReceived) await call('Write', { record: { key: 'a', value: 'AA==' } })
  t.match((await first).value, { action: 'write', key: 'a', record: { key: 'a', value: 'AA==' } })
  await call('Write', { record: { key: 'b' } })
  await call('Write', { record: { key: 'a1', expiry: 5 } })
  let next = (await events.next()).value as WatchEvent
  while (next.key === 'a') next = (await events.next()).value as WatchEvent
  t.match(next, { action: 'write', key: 'a1', record: { expiry: 5 } })
  clock.seconds += 5
  t.strictSame((await events.next()).value, { action: 'delete', key: 'a1' })
  const last = events.next()
  const failed = t.rejects(last, { code: 503, message: 'the store is stopping' })
  await close()
  await failed
})

t.test(
  'a 507 error of the adapter is returned unchanged, and an unexpected error as 500 without details',
  async (t) => {
    const { call } = await openPlatformStore(t, {
      adapter: {
        ...createMemoryStore(),
        commit: () => {
          throw storeFull(new Error('ENOSPC'))
        },
        read: () => {
          throw new Error('/var/secret is broken')
        },
      },
    })
    await t.rejects(call('Write', { record: { key: 'a' } }), {
      code: 507,
      id: 'store',
      message: 'the store is full: nothing was written',
    })
    await t.rejects(call('Read', { key: 'a' }), { code: 500, message: 'internal error' })
  },
)
