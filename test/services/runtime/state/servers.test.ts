import t from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { createServers } from '../../../../services/runtime/state/servers.ts'
import { makePlainProgram } from '../../../fixtures/deployer.ts'
import { makeRuntimeState, openPlatformRuntime } from '../../../fixtures/platform-runtime.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const START_MS = 1e12

t.test('considers a server unavailable after a minute without heartbeat', async (t) => {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  let ms = START_MS
  const [one, two] = ['one', 'two'].map((server) =>
    createServers({ store, server, nowMs: () => ms }),
  ) as [ReturnType<typeof createServers>, ReturnType<typeof createServers>]
  for (const servers of [one, two]) {
    await servers.begin()
    t.teardown(servers.close)
  }
  ms += 60_000
  t.same(await two.findUnreachable(), new Map())
  ms += 1
  const value = Buffer.from('{"format":2}')
  await store.commit([{ table: { database: 'mx', table: 'runtime' }, key: 'server:new', value }])
  t.same(
    await two.findUnreachable(),
    new Map([['one', START_MS]]),
    'neither this server nor a recently seen one',
  )
  const changes: string[][] = []
  const stop = two.watch((changed) => changes.push([...changed]))
  await two.refresh()
  await two.refresh()
  t.same(changes, [['one']], 'reported once')
  t.same(two.unreachable(), new Map([['one', START_MS]]))
  await one.refresh()
  await two.refresh()
  t.same(changes, [['one'], ['one']], 'its return is reported')
  t.same(two.unreachable(), new Map())
  stop()
})

t.test(
  "reports the state of an unavailable server's services as unknown with a remedy",
  async (t) => {
    const sharedState = makeRuntimeState(t)
    const firstServer = await openPlatformRuntime(t, { server: 'one' }, sharedState)
    await firstServer.create('shop', makePlainProgram('one'))
    await firstServer.settled('shop')
    await firstServer.close()
    const otherHost = { ...sharedState, folder: makeTempFolder(t, 'runtime') }
    const later = { server: 'two', nowMs: () => Date.now() + 120_000 }
    const secondServer = await openPlatformRuntime(t, later, otherHost)
    const [service] = await secondServer.read()
    t.match(service, {
      status: 0,
      metadata: {
        ...{ status: 'unknown', owner: /.*/ },
        error:
          /^server one, which runs the service, has sent no heartbeat for 2m; restart the server, or delete the service with force and run it elsewhere$/,
      },
    })
  },
)
