import { randomUUID } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import { type Folders, removeFolder } from './folders.ts'
import { toObjectKey } from './records.ts'
import { unpackSource } from './sources/unpack.ts'

/** Sources that were uploaded, and wait to be built. */
export interface Uploads {
  /**
   * Unpacks an archive; the one that waits for the same object is forgotten.
   *
   * @throws {GatewayError} 400, 413 for what it is made of, 429 when too many come at a time.
   */
  readonly take: (key: WorkloadKey, parts: AsyncIterable<Uint8Array>) => Promise<void>
  /** Id of what waits for an object, which is its taker's from now on; undefined: nothing. */
  readonly claim: (key: WorkloadKey) => string | undefined
  /** Forgets what an object waits for. */
  readonly forget: (key: WorkloadKey) => Promise<void>
  /** Removes all of them but these: whoever uploaded them is gone with the server that took them. */
  readonly clean: (kept: ReadonlySet<string>) => Promise<void>
}

/** At a time. */
const MOST = 8
/** What was uploaded and is not used is forgotten after so long. */
const UNUSED_MS = 3600 * 1000

export function createUploads(folders: Folders): Uploads {
  const waiting = new Map<string, { readonly id: string; readonly timer: NodeJS.Timeout }>()
  let running = 0

  function claim(key: WorkloadKey): string | undefined {
    const found = waiting.get(toObjectKey(key))
    if (found === undefined) return undefined
    clearTimeout(found.timer)
    waiting.delete(toObjectKey(key))
    return found.id
  }

  async function forget(key: WorkloadKey): Promise<void> {
    const id = claim(key)
    if (id !== undefined) await removeFolder(folders.upload(id))
  }

  return {
    claim,
    forget,

    async take(key, parts) {
      if (running >= MOST) throw tooManyRequests('runtime', `${MOST} uploads are under way already`)
      running++
      try {
        const id = randomUUID()
        await mkdir(folders.uploads, { recursive: true, mode: 0o700 })
        await unpackSource(parts, folders.upload(id))
        await forget(key)
        const timer = setTimeout(() => void forget(key).catch(() => {}), UNUSED_MS).unref()
        waiting.set(toObjectKey(key), { id, timer })
      } finally {
        running--
      }
    },

    async clean(kept) {
      const ids = await readdir(folders.uploads).catch(() => [])
      for (const id of ids) if (!kept.has(id)) await removeFolder(folders.upload(id))
    },
  }
}
