import { randomUUID } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import type { WorkloadKey } from '../../core/contracts/runtime.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import { withDeadline } from './deadline.ts'
import type { DiskRoom } from './disk-room.ts'
import { type Folders, removeFolder } from './folders.ts'
import { toObjectKey } from './records.ts'
import { unpackSource } from './sources/unpack.ts'

/** Sources that were uploaded, and wait to be built. */
export interface Uploads {
  /**
   * Unpacks an archive; the one that waits for the same object is forgotten.
   *
   * @throws {GatewayError} 400, 413 for what it is made of, 408 when it takes too long, 429 when too many come at a time, 507
   *   when there is no room for it.
   */
  readonly take: (
    key: WorkloadKey,
    parts: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ) => Promise<void>
  /** Id of what waits for an object, which is its taker's from now on; undefined: nothing. */
  readonly claim: (key: WorkloadKey) => string | undefined
  /** Forgets what an object waits for. */
  readonly forget: (key: WorkloadKey) => Promise<void>
  /** Removes what was claimed; nothing for an empty id. */
  readonly remove: (id: string) => Promise<void>
  /** Removes all of them but these: whoever uploaded them is gone with the server that took them. */
  readonly clean: (kept: ReadonlySet<string>) => Promise<void>
}

/** At a time, of all namespaces and of one: none keeps the others out. */
const MOST = 16
const MOST_OF_NAMESPACE = 8
/** For all of it: one whose client sends nothing any more ends, too. */
const TIMEOUT_MS = 10 * 60_000
/** What was uploaded and is not used is forgotten after so long. */
const UNUSED_MS = 3600 * 1000

export function createUploads(
  folders: Folders,
  room: DiskRoom,
  timeoutMs: number = TIMEOUT_MS,
): Uploads {
  const waiting = new Map<string, { readonly id: string; readonly timer: NodeJS.Timeout }>()
  /** Namespaces of those that are under way. */
  const running: string[] = []

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

    async remove(id) {
      if (id !== '') await removeFolder(folders.upload(id))
    },

    async take(key, parts, signal) {
      const own = running.filter((namespace) => namespace === key.namespace)
      const most = running.length >= MOST ? MOST : MOST_OF_NAMESPACE
      if (running.length >= MOST || own.length >= MOST_OF_NAMESPACE)
        throw tooManyRequests('runtime', `${most} uploads are under way already`)
      running.push(key.namespace)
      try {
        const id = randomUUID()
        await mkdir(folders.uploads, { recursive: true, mode: 0o700 })
        await withDeadline('the upload', timeoutMs, { signal }, (inTime) =>
          room.use(inTime, (ending) => unpackSource(endWith(ending, parts), folders.upload(id))),
        )
        await forget(key)
        const timer = setTimeout(() => void forget(key).catch(() => {}), UNUSED_MS).unref()
        waiting.set(toObjectKey(key), { id, timer })
      } finally {
        running.splice(running.indexOf(key.namespace), 1)
      }
    },

    async clean(kept) {
      const ids = await readdir(folders.uploads).catch(() => [])
      for (const id of ids) if (!kept.has(id)) await removeFolder(folders.upload(id))
    },
  }
}

/** The same parts, until the signal: none is waited for then. */
async function* endWith(
  signal: AbortSignal,
  parts: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]()
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  ended.catch(() => {})
  for (;;) {
    signal.throwIfAborted()
    const { done, value } = await Promise.race([iterator.next(), ended])
    if (done === true) return
    yield value
  }
}
