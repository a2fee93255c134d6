import { randomUUID } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import { type Quota, quotaReached } from '../../../core/limits/quota.ts'
import { createFairQueue } from '../../../lib/async/fair-queue.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import { formatDuration } from '../../../lib/text/units.ts'
import { timeout, unavailable } from '../../../sdk/errors.ts'
import { withDeadline } from '../jobs/deadline.ts'
import type { DiskRoom } from '../jobs/disk-room.ts'
import type { Folders } from '../jobs/folders.ts'
import { toObjectKey } from '../state/records.ts'
import { unpackSource } from './unpack.ts'

/** Sources that were uploaded, and wait to be built. */
export interface Uploads {
  /**
   * Unpacks an archive; the one that waits for the same object is forgotten.
   *
   * @throws {GatewayError} 400, 413 for what it is made of, 408 when it takes too long or nothing comes, 429 when its namespace has
   *   reached its quota, 503 when too many others are in progress, 507 when there is no room for it.
   */
  readonly take: (
    key: WorkloadKey,
    parts: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ) => Promise<void>
  /** Id of what waits for an object, which is its taker's from now on; undefined: nothing. */
  readonly claim: (key: WorkloadKey) => string | undefined
  /** Whether an upload of the object was claimed within the last 10 minutes. */
  readonly wasClaimed: (key: WorkloadKey) => boolean
  /** Forgets what an object waits for. */
  readonly forget: (key: WorkloadKey) => Promise<void>
  /** Removes what was claimed; nothing for an empty id. */
  readonly remove: (id: string) => Promise<void>
  /** Removes all of them but these: whoever uploaded them is gone with the server that took them. */
  readonly clean: (kept: ReadonlySet<string>) => Promise<void>
}

/** At a time, of all namespaces; one leaves as many to others as it has. */
const MOST = 16
/** For all of it. */
const TIMEOUT_MS = 10 * 60_000
/** Without a further part: a client that stalls keeps its place no longer. */
const IDLE_MS = 30_000
/** Longest wait for a place. */
const WAIT_MS = 5000
/** For so long, a missing upload is explained by another deployment of the object. */
const CLAIMED_MS = 10 * 60_000
/** What was uploaded and is not used is forgotten after so long. */
const UNUSED_MS = 3600 * 1000

export interface UploadsOptions {
  readonly folders: Folders
  readonly room: DiskRoom
  /** Uploads of a namespace in progress, or waiting to be run. */
  readonly quota: Quota
  /** Milliseconds an upload may take. @default 600000 */
  readonly timeoutMs?: number
  /** Milliseconds without a further part. @default 30000 */
  readonly idleMs?: number
  /** Milliseconds to wait for a place. @default 5000 */
  readonly maxWaitMs?: number
}

export function createUploads(options: UploadsOptions): Uploads {
  const { folders, room, quota } = options
  const { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS, maxWaitMs = WAIT_MS } = options
  /** Uploaded, not yet run. */
  const waiting = new Map<string, Upload>()
  /** When uploads were claimed, by object, oldest first; milliseconds of the monotonic clock. */
  const claimed = new Map<string, number>()
  /** In progress, or waiting for a place. */
  const running = new Set<{ readonly namespace: string }>()
  const queue = createFairQueue({
    places: MOST,
    leavesRoom: true,
    toError: () =>
      unavailable(
        'runtime',
        `too many uploads are in progress: no place within ${formatDuration(maxWaitMs)}, try again later`,
        { headers: ['retry-after', '5'] },
      ),
  })

  /** @throws {GatewayError} 429 */
  function checkQuota({ namespace }: WorkloadKey, own: string): void {
    const limit = quota.limitOf(namespace)
    if (limit === Number.POSITIVE_INFINITY) return
    let count = 0
    for (const upload of running) if (upload.namespace === namespace) count++
    // One of the same object is replaced.
    for (const [name, upload] of waiting)
      if (upload.namespace === namespace && name !== own) count++
    if (count >= limit)
      throw quotaReached('runtime', 429, quota, {
        ...{ namespace, limit: `${limit} uploads`, used: `${count}` },
        remedy: 'run what was uploaded or wait until uploads have ended',
      })
  }

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

  function noteClaim(name: string): void {
    const nowMs = performance.now()
    for (const [other, ms] of claimed) {
      if (nowMs - ms < CLAIMED_MS) break
      claimed.delete(other)
    }
    claimed.delete(name)
    claimed.set(name, nowMs)
  }

  return {
    claim(key) {
      const id = claim(key)
      if (id !== undefined) noteClaim(toObjectKey(key))
      return id
    },

    wasClaimed(key) {
      const ms = claimed.get(toObjectKey(key))
      return ms !== undefined && performance.now() - ms < CLAIMED_MS
    },

    forget,

    async remove(id) {
      if (id !== '') await removeFolder(folders.upload(id))
    },

    async take(key, parts, signal) {
      checkQuota(key, toObjectKey(key))
      const upload = { namespace: key.namespace }
      running.add(upload)
      let release = (): void => {}
      try {
        release = await queue.acquire(key.namespace, { maxWaitMs, signal })
        const id = randomUUID()
        await mkdir(folders.uploads, { recursive: true, mode: 0o700 })
        await withDeadline('the upload', timeoutMs, { signal }, (inTime) =>
          room.use(inTime, (ending) =>
            unpackSource(endWith(ending, parts, idleMs), folders.upload(id)),
          ),
        )
        // Before anything is awaited: another upload of the object may end meanwhile.
        const earlier = claim(key)
        const timer = setTimeout(() => void forget(key).catch(() => {}), UNUSED_MS).unref()
        waiting.set(toObjectKey(key), { id, timer, namespace: key.namespace })
        if (earlier !== undefined) await removeFolder(folders.upload(earlier))
      } finally {
        release()
        running.delete(upload)
      }
    },

    async clean(kept) {
      const ids = await readdir(folders.uploads).catch(() => [])
      for (const id of ids) if (!kept.has(id)) await removeFolder(folders.upload(id))
    },
  }
}

interface Upload {
  readonly id: string
  /** Ends what is not run. */
  readonly timer: NodeJS.Timeout
  readonly namespace: string
}

/** The same parts, until the signal, or none has come for too long: none is waited for then. */
async function* endWith(
  signal: AbortSignal,
  parts: AsyncIterable<Uint8Array>,
  idleMs: number,
): AsyncGenerator<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]()
  let end = (_: unknown): void => {}
  const ended = new Promise<never>((_, reject) => {
    end = reject
  })
  ended.catch(() => {})
  signal.addEventListener('abort', () => end(signal.reason), { once: true })
  const onIdle = (): void =>
    end(timeout('runtime', `the upload sent nothing for ${formatDuration(idleMs)}`))
  for (;;) {
    signal.throwIfAborted()
    const timer = setTimeout(onIdle, idleMs)
    try {
      const { done, value } = await Promise.race([iterator.next(), ended])
      if (done === true) return
      clearTimeout(timer)
      yield value
    } finally {
      clearTimeout(timer)
    }
  }
}
