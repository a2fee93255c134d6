import t from 'tap'
import { createMemoryStore } from '../../../adapters/store/memory.ts'
import { storeFull, storeUnavailable } from '../../../domain/store/errors.ts'
import { createStore } from '../../../domain/store/store.ts'
import { createContext } from '../../../sdk/context.ts'
import { createConfigService } from '../../../services/config/service.ts'
import { openPlatformConfig } from '../../fixtures/platform-config.ts'
import { createQuietLog, openRegistry } from '../../fixtures/sdk-services.ts'

interface WatchMessage {
  readonly value: { readonly data: string }
  readonly exists: boolean
  readonly version: number
}

t.test('registers the config service with its endpoints', async (t) => {
  const registry = openRegistry(t)
  await openPlatformConfig(t, { registry })
  const [service] = await registry.getService('config')
  t.strictSame(
    service!.endpoints.map(({ name, metadata }) => `${name} ${metadata['stream'] ?? ''}`.trim()),
    [
      'Config.Get',
      'Config.Set',
      'Config.Delete',
      'Config.List',
      'Config.History',
      'Config.Rollback',
      'Config.Watch true',
    ],
  )
})

t.test(
  'streams changes over the wire, and secrets only on request, until the service stops',
  async (t) => {
    const { set, watch, close } = await openPlatformConfig(t)
    await set('a.b', 1)
    const plain = watch<WatchMessage>({ path: 'a' })
    const open = watch<WatchMessage>({ path: 'a', options: { secret: true } })
    const first = { value: { data: '{"b":1}', format: 'json' }, exists: true, version: 1 }
    t.strictSame((await plain.next()).value, first)
    t.strictSame((await open.next()).value, first)
    await set('other', 1)
    await set('a.c', 'hunter2', true)
    t.match((await plain.next()).value, { value: { data: '{"b":1,"c":"[secret]"}' }, version: 3 })
    t.match((await open.next()).value, { value: { data: '{"b":1,"c":"hunter2"}' }, version: 3 })
    const deletedWatch = watch<WatchMessage>({ path: 'x' })
    t.match((await deletedWatch.next()).value, { value: { data: 'null' }, exists: false })
    const last = plain.next()
    const failed = t.rejects(last, { code: 503, message: 'the config service is stopping' })
    await close()
    await failed
  },
)

t.test('forwards errors of the store', async (t) => {
  let error = storeFull(new Error('ENOSPC'))
  const inner = createMemoryStore()
  const { set, get } = await openPlatformConfig(t, {
    adapter: {
      ...inner,
      commit: () => {
        throw error
      },
    },
  })
  await t.rejects(set('a', 1), { code: 507 })
  error = storeUnavailable(new Error('refused'))
  await t.rejects(set('a', 1), { code: 503 })
  await t.rejects(get('a'), { code: 404 }, 'no value was stored')
})

t.test('records the account of the call as author', async (t) => {
  const { call, set } = await openPlatformConfig(t)
  const context = createContext({ metadata: { 'mx-account': '{"id":"admin"}' } })
  await call('Set', { path: 'a', value: { data: '1' } }, { context })
  await set('b', 1)
  const { versions } = await call<{ versions: { account: string }[] }>('History')
  t.strictSame(
    versions.map(({ account }) => account),
    ['', 'admin'],
  )
})

t.test('finishes changes in progress on close and leaves the store open', async (t) => {
  const inner = createMemoryStore()
  let resume = (): void => {}
  const pending = new Promise<void>((resolve) => {
    resume = resolve
  })
  let onCommit = (): void => {}
  const reached = new Promise<void>((resolve) => {
    onCommit = resolve
  })
  const store = createStore({
    ...inner,
    async commit(groups, nowMs) {
      onCommit()
      await pending
      return inner.commit(groups, nowMs)
    },
  })
  const { set, close } = await openPlatformConfig(t, { store })
  const changed = set('a', 1)
  await reached
  const closed = close()
  resume()
  t.equal(await changed, 1)
  await closed
  t.equal((await store.listTables()).length, 1)
})

t.test('has no background activity', async (t) => {
  const store = createStore(createMemoryStore())
  const { service, close } = createConfigService({ store, log: createQuietLog('config').log })
  t.equal(service.address, '')
  t.strictSame(await store.listTables(), [])
  await close()
})
