import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Runtime } from '../../../core/contracts/runtime.ts'
import type { Isolation } from '../../../lib/process/sandbox/sandbox.ts'
import type { ServiceLog } from '../../../sdk/log/service-log.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import type { Settings } from '../../settings/settings.ts'
import type { DataFolder } from '../files/data-folder.ts'
import { createInstanceRegistrar } from '../instance-registrar.ts'
import type { ServerRegistries } from '../server-registries.ts'

export interface OpenRuntimeOptions {
  readonly settings: Pick<
    Settings,
    | 'runtime'
    | 'runtimePodSecurity'
    | 'runtimeReadOnlyRoot'
    | 'runtimeCpuRequest'
    | 'runtimeMemoryRequestBytes'
    | 'restartDelayMaxMs'
  >
  readonly registries: ServerRegistries
  /** Folder for service files. */
  readonly folder: string
  readonly isolation?: Promise<Isolation> | undefined
  readonly log: ServiceLog
}

/** Opens the runtime of the `runtime` setting. Imports its library on demand. */
export async function openRuntime(options: OpenRuntimeOptions): Promise<Runtime> {
  const { settings, registries, folder, isolation, log } = options
  if (settings.runtime === 'kubernetes') {
    const { createKubernetesRuntime } = await import('../../../adapters/runtime/kubernetes.ts')
    const { runtimeReadOnlyRoot, runtimeCpuRequest, runtimeMemoryRequestBytes } = settings
    return createKubernetesRuntime({
      podSecurity: settings.runtimePodSecurity,
      isRootReadOnly: runtimeReadOnlyRoot,
      requests: {
        ...(runtimeCpuRequest > 0 && { cpus: runtimeCpuRequest }),
        ...(runtimeMemoryRequestBytes > 0 && { memoryBytes: runtimeMemoryRequestBytes }),
      },
      onProblem: (message) => log.warn({}, message),
    })
  }
  const { createProcessRuntime } = await import('../../../adapters/runtime/process.ts')
  const registrar = createInstanceRegistrar({
    registryOf: (namespace) =>
      namespace === DEFAULT_NAMESPACE ? registries.registry : registries.create(namespace),
    log,
  })
  return createProcessRuntime({
    ...{ folder: join(folder, 'processes'), registrar, log },
    ...(isolation !== undefined && { isolation }),
    limits: { pauseMaxMs: settings.restartDelayMaxMs },
  })
}

/**
 * Creates a temporary folder for a server without a data folder. The folder is removed on close.
 */
export async function openRuntimeFolder(): Promise<DataFolder> {
  const path = await mkdtemp(join(tmpdir(), 'mx-runtime-'))
  return { path, close: () => rm(path, { recursive: true, force: true }) }
}
