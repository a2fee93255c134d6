import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'

/** Folder layout of the runtime. */
export interface Folders {
  /** Cache shared by all builds unless they are isolated. */
  readonly cache: string
  /** Cache of isolated builds of a namespace. */
  readonly cacheOf: (namespace: string) => string
  /** Uploads that have not been built yet. */
  readonly uploads: string
  readonly upload: (id: string) => string
  /** Folder of all builds of an object. */
  readonly builds: (key: WorkloadKey) => string
  readonly build: (key: WorkloadKey, build: string) => string
  /** Output file of a build. */
  readonly output: (key: WorkloadKey, build: string) => string
}

export function createFolders(root: string): Folders {
  const builds = ({ namespace, name, version }: WorkloadKey): string =>
    // A version may contain slashes. It is encoded, so that folders of different versions never
    // overlap.
    join(root, 'builds', namespace, name, encodeURIComponent(version))
  const uploads = join(root, 'uploads')
  return {
    cache: join(root, 'cache'),
    cacheOf: (namespace) => join(root, 'caches', namespace),
    uploads,
    upload: (id) => join(uploads, id),
    builds,
    build: (key, build) => join(builds(key), build),
    output: (key, build) => join(builds(key), `${build}.log`),
  }
}

/**
 * Deletes the builds of an object and their output, except for retained ones.
 *
 * @param remove deletes the folder of a build. @default {@link removeFolder}
 * @param findRetained called after listing the builds, so that a build that starts later is not
 * deleted.
 */
export async function removeBuilds(
  folders: Folders,
  key: WorkloadKey,
  findRetained: () => Promise<ReadonlySet<string>>,
  remove: (folder: string) => Promise<void> = removeFolder,
): Promise<void> {
  const names = await readdir(folders.builds(key)).catch(() => [])
  const retained = await findRetained()
  for (const name of names) {
    if (retained.has(name.replace(/\.log$/, ''))) continue
    const path = join(folders.builds(key), name)
    await (name.endsWith('.log') ? removeFolder(path) : remove(path))
  }
}
