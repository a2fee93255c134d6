import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRuntime, openRuntimeFolder } from '../../platform/open-runtime.ts'
import type { ServerRegistries } from '../../platform/server-registries.ts'
import { createQuietLog, openRegistry } from '../fixtures/sdk-services.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.test('what runs services is what the setting says', async (t) => {
  const registry = openRegistry(t)
  const registries = { registry, create: () => registry } as unknown as ServerRegistries
  const { log } = createQuietLog('runtime')
  const open = (runtime: 'process' | 'kubernetes') =>
    openRuntime({
      settings: {
        ...{ runtime, restartDelayMaxMs: 60_000, runtimeReadOnlyRoot: true },
        ...{ runtimeCpuRequest: 0.1, runtimeMemoryRequestBytes: 0 },
      },
      registries,
      folder: makeTempFolder(t, 'runtime'),
      log,
    })
  for (const [name, runs] of [
    ['process', 'process'],
    ['kubernetes', 'image'],
  ] as const) {
    const runtime = await open(name)
    t.equal(runtime.runs, runs)
    await runtime.close()
  }
})

t.test('where nothing is kept the folder goes with the server', async (t) => {
  const folder = await openRuntimeFolder()
  t.ok(existsSync(folder.path))
  await folder.close()
  t.notOk(existsSync(join(folder.path)))
})
