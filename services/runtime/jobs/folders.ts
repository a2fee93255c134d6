import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'

/** Where the runtime keeps what in files. */
export interface Folders {
  /** Shared by all builds, unless they are isolated. */
  readonly cache: string
  /** Of the builds of a namespace, where they are isolated. */
  readonly cacheOf: (namespace: string) => string
  /** All that was uploaded and not built yet. */
  readonly uploads: string
  readonly upload: (id: string) => string
  /** All builds of an object. */
  readonly builds: (key: WorkloadKey) => string
  readonly build: (key: WorkloadKey, build: string) => string
  /** What a build wrote. */
  readonly output: (key: WorkloadKey, build: string) => string
}

export function createFolders(root: string): Folders {
  const builds = ({ namespace, name, version }: WorkloadKey): string =>
    // A version may have slashes; a folder of its own is no other's then.
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
 * Removes the builds of an object but for some, and what they wrote.
 *
 * @param remove deletes the folder of a build. @default {@link removeFolder}
 * @param findKept asked once it is known which there are: one that begins later is none of them.
 */
export async function removeBuilds(
  folders: Folders,
  key: WorkloadKey,
  findKept: () => Promise<ReadonlySet<string>>,
  remove: (folder: string) => Promise<void> = removeFolder,
): Promise<void> {
  const names = await readdir(folders.builds(key)).catch(() => [])
  const kept = await findKept()
  for (const name of names) {
    if (kept.has(name.replace(/\.log$/, ''))) continue
    const path = join(folders.builds(key), name)
    await (name.endsWith('.log') ? removeFolder(path) : remove(path))
  }
}
