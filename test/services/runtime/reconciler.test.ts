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
  const sharedState = makeRuntimeState(t)
  const firstServer = await openPlatformRuntime(t, {}, sharedState)
  const failing = { 'main.cjs': "console.log('I give up'); process.exit(7)" }
  await firstServer.create('shop', { ...makePlainProgram('one'), ...failing })
  t.match(await firstServer.settled('shop'), {
    status: 7,
    metadata: { error: /7[\s\S]*I give up/ },
  })
  await firstServer.close()
  const secondServer = await openPlatformRuntime(t, {}, sharedState)
  t.match(await secondServer.settled('shop'), { status: 7, metadata: { error: /I give up/ } })
  t.equal(secondServer.registrar.addresses.get('shop'), undefined)
  await secondServer.update('shop', makePlainProgram('two'))
  t.match(await secondServer.settled('shop'), { status: 4 })
  t.equal(await secondServer.registrar.call('shop'), 'two')
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
  const sharedState = makeRuntimeState(t)
  let late = 0
  const store: Store = {
    ...sharedState.store,
    watch: (table, prefix, { onEvent, onMissedEvents }) =>
      sharedState.store.watch(table, prefix, {
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
  const firstServer = await openPlatformRuntime(t, { everyMs: 60_000 }, { ...sharedState, store })
  await firstServer.create('shop', makePlainProgram('one'))
  await eventually(async () => (await firstServer.read())[0]?.status === 4)
  await waitUntil(() => late === 0)
  t.match(await firstServer.settled('shop'), { status: 4, metadata: { error: undefined } })
  t.notMatch(firstServer.lines.join(''), /deployment failed/)
  await firstServer.close()
  const secondServer = await openPlatformRuntime(t, {}, sharedState)
  t.match(
    await secondServer.settled('shop'),
    { status: 4, metadata: { error: undefined } },
    'uses the existing build',
  )
  t.equal(await secondServer.registrar.call('shop'), 'one')
})

t.test('skips a record of a newer version and logs it', async (t) => {
  const sharedState = makeRuntimeState(t)
  const table = { database: 'mx', table: 'runtime' }
  const value = Buffer.from('{"format":2}')
  await sharedState.store.commit([{ table, key: 'service:mx:other:latest', value }])
  const runtime = await openPlatformRuntime(t, {}, sharedState)
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
  const sharedState = makeRuntimeState(t)
  const { runtime } = openProcessRuntime(t, { folder: join(sharedState.folder, 'processes') })
  let isApplying = false
  let release = (): void => {}
  const apply: Runtime['apply'] = () => {
    isApplying = true
    return new Promise<void>((resolve) => {
      release = resolve
    })
  }
  const server = await openPlatformRuntime(t, { runtime: { ...runtime, apply } }, sharedState)
  await server.create('shop', makePlainProgram('one'))
  await waitUntil(() => isApplying)
  const closed = server.close()
  release()
  await closed
})
