import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import type { Isolation } from '../../../lib/process/sandbox/sandbox.ts'
import { selectSandbox } from '../../../lib/process/sandbox/select-sandbox.ts'
import { createSandboxedBuilds, type SandboxedBuilds } from '../builds/sandboxed-build.ts'
import type { Folders } from './folders.ts'
import type { FindSandboxedBuilds, RemoveBuild } from './prepare.ts'

export interface Sandboxes {
  readonly findSandbox: FindSandboxedBuilds
  /** Deletes cached packages in all namespaces that are not used by any build. */
  readonly pruneSandboxes: () => Promise<void>
  readonly removeBuild: RemoveBuild
}

/** Package caches of builds made before isolation was enabled. */
const EARLIER_CACHES = ['node', 'python']

/** Creates the jobs that run as the user of a namespace. */
export function createSandboxes(
  folders: Folders,
  isolation: Promise<Isolation> | undefined,
): Sandboxes {
  const opened = new Map<string, SandboxedBuilds>()

  async function findSandbox(namespace: string): Promise<SandboxedBuilds | undefined> {
    const sandbox = isolation && selectSandbox(await isolation, namespace)
    if (sandbox === undefined) return undefined
    const cacheFolder = folders.cacheOf(namespace)
    const builds =
      opened.get(namespace) ??
      createSandboxedBuilds({ sandbox, namespace, cacheFolder, workFolder: folders.cache })
    opened.set(namespace, builds)
    return builds
  }

  return {
    findSandbox,

    async pruneSandboxes() {
      if ((await isolation)?.sandbox === undefined) return
      for (const namespace of await readdir(dirname(folders.cacheOf('any'))).catch(() => []))
        await (await findSandbox(namespace))?.prune()
    },

    removeBuild: async (folder) => removeFolder(folder, (await isolation)?.sandbox),
  }
}

/** Adds the folders that an isolated program needs. */
export function withFolders(workload: Workload, folders: Folders, build: string): Workload {
  const { program, namespace } = workload
  if (program.kind !== 'process') return workload
  const earlier = EARLIER_CACHES.map((name) => join(folders.cache, name)).filter(existsSync)
  const shared = [folders.cacheOf(namespace), ...earlier]
  return { ...workload, program: { ...program, root: folders.build(workload, build), shared } }
}
