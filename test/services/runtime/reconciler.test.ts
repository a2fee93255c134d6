import { join } from 'node:path'
import t from 'tap'
import type { Runtime } from '../../../core/contracts/runtime.ts'
import type { Store } from '../../../domain/store/store.ts'
import { createObjects } from '../../../services/runtime/state/objects.ts'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { makeRuntimeState, openPlatformRuntime } from '../../fixtures/platform-runtime.ts'
import { openProcessRuntime } from '../../fixtures/process-runtime.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }

t.test('retains the error status across restarts until an update', async (t) => {
  const remaining = makeRuntimeState(t)
  const one = await openPlatformRuntime(t, {}, remaining)
  const failing = { 'main.cjs': "console.log('I give up'); process.exit(7)" }
  await one.create('shop', { ...makePlainProgram('one'), ...failing })
  t.match(await one.settled('shop'), { status: 7, metadata: { error: /7[\s\S]*I give up/ } })
  await one.close()
  const two = await openPlatformRuntime(t, {}, remaining)
  t.match(await two.settled('shop'), { status: 7, metadata: { error: /I give up/ } })
  t.equal(two.registrar.addresses.get('shop'), undefined)
  await two.update('shop', makePlainProgram('two'))
  t.match(await two.settled('shop'), { status: 4 })
  t.equal(await two.registrar.call('shop'), 'two')
})

t.test('stops a service whose record was deleted', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  await createObjects(runtime.store).change(KEY, () => undefined)
  await waitUntil(() => runtime.registrar.addresses.get('shop')?.length === 0)
  t.same(await runtime.read(), [])
})

t.test('does not rebuild a settled request while store updates are delayed', async (t) => {
  const remaining = makeRuntimeState(t)
  let late = 0
  const store: Store = {
    ...remaining.store,
    watch: (table, prefix, { onEvent, onMissedEvents }) =>
      remaining.store.watch(table, prefix, {
        onMissedEvents,
        onEvent(event) {
          late++
          setTimeout(() => {
            late--
            onEvent(event)
          }, 200)
        },
      }),
  }
  const one = await openPlatformRuntime(t, { everyMs: 60_000 }, { ...remaining, store })
  await one.create('shop', makePlainProgram('one'))
  await eventually(async () => (await one.read())[0]?.status === 4)
  await waitUntil(() => late === 0)
  t.match(await one.settled('shop'), { status: 4, metadata: { error: undefined } })
  t.notMatch(one.lines.join(''), /deployment failed/)
  await one.close()
  const two = await openPlatformRuntime(t, {}, remaining)
  t.match(
    await two.settled('shop'),
    { status: 4, metadata: { error: undefined } },
    'uses the existing build',
  )
  t.equal(await two.registrar.call('shop'), 'one')
})

t.test('skips a record of a newer version and logs it', async (t) => {
  const remaining = makeRuntimeState(t)
  const table = { database: 'mx', table: 'runtime' }
  const value = Buffer.from('{"format":2}')
  await remaining.store.commit([{ table, key: 'service:mx:other:latest', value }])
  const runtime = await openPlatformRuntime(t, {}, remaining)
  await runtime.create('shop', makePlainProgram('one'))
  t.match(await runtime.settled('shop'), { status: 4 })
  t.match(runtime.lines.join(''), /cannot read service/)
  t.match(
    await runtime.read(),
    [
      { name: 'shop', status: 4 },
      { name: 'other', version: 'latest', status: 0, metadata: { error: /a newer version of mx/ } },
    ],
    'the record is listed with the others',
  )
  await t.rejects(runtime.call('Delete', 'other'), { code: 500, message: /a newer version of mx/ })
})

t.test('does not wait for a revision being applied when the server stops', async (t) => {
  const remaining = makeRuntimeState(t)
  const { runtime } = openProcessRuntime(t, { folder: join(remaining.folder, 'processes') })
  let isApplying = false
  let release = (): void => {}
  const apply: Runtime['apply'] = () => {
    isApplying = true
    return new Promise<void>((resolve) => {
      release = resolve
    })
  }
  const server = await openPlatformRuntime(t, { runtime: { ...runtime, apply } }, remaining)
  await server.create('shop', makePlainProgram('one'))
  await waitUntil(() => isApplying)
  const closed = server.close()
  release()
  await closed
})
