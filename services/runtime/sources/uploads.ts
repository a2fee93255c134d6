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

/** Uploaded sources that have not been built yet. */
export interface Uploads {
  /**
   * Unpacks an archive, which replaces a pending upload of the same object.
   *
   * @throws {GatewayError} 400 or 413 for an invalid archive, 408 on timeout or stall, 429 if the
   * namespace has reached its quota, 503 if too many uploads are in progress, 507 if the disk is
   * full.
   */
  readonly take: (
    key: WorkloadKey,
    parts: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ) => Promise<void>
  /**
   * Claims the pending upload of an object and returns its id, or undefined if no upload is
   * pending.
   */
  readonly claim: (key: WorkloadKey) => string | undefined
  readonly wasClaimed: (key: WorkloadKey) => boolean
  /** Deletes the pending upload of an object. */
  readonly forget: (key: WorkloadKey) => Promise<void>
  /** Deletes a claimed upload; no-op for an empty id. */
  readonly remove: (id: string) => Promise<void>
  /**
   * Deletes all uploads except the retained ones. Pending uploads are lost when the server
   * restarts.
   */
  readonly clean: (retained: ReadonlySet<string>) => Promise<void>
}

/** Maximum number of concurrent uploads; one is reserved for other namespaces. */
const MAX_UPLOADS = 16
/** Timeout of an upload. */
const TIMEOUT_MS = 10 * 60_000
/** Timeout without receiving data, so that a stalled client frees its slot. */
const IDLE_MS = 30_000
/** Maximum wait for a slot. */
const WAIT_MS = 5000
/**
 * Period in which the error for a missing upload mentions another deployment of the object as the
 * cause.
 */
const CLAIMED_MS = 10 * 60_000
/** Retention of unused uploads. */
const UNUSED_MS = 3600 * 1000

export interface UploadsOptions {
  readonly folders: Folders
  readonly diskRoom: DiskRoom
  /** Quota of a namespace's uploads, in progress or pending. */
  readonly quota: Quota
  /** Timeout of an upload in milliseconds. @default 600000 */
  readonly timeoutMs?: number
  /** Timeout without receiving data in milliseconds. @default 30000 */
  readonly idleMs?: number
  /** Maximum wait for a slot in milliseconds. @default 5000 */
  readonly maxWaitMs?: number
}

export function createUploads(options: UploadsOptions): Uploads {
  const { folders, diskRoom, quota } = options
  const { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS, maxWaitMs = WAIT_MS } = options
  /** Uploads that have not been deployed yet. */
  const waiting = new Map<string, Upload>()
  /** Time of claims by object, oldest first, on the monotonic clock in milliseconds. */
  const claimed = new Map<string, number>()
  /** Uploads that are in progress or waiting for a slot. */
  const running = new Set<{ readonly namespace: string }>()
  const queue = createFairQueue({
    slots: MAX_UPLOADS,
    leavesSlots: true,
    toError: () =>
      unavailable(
        'runtime',
        `too many uploads in progress: no free slot within ${formatDuration(maxWaitMs)}; try again later`,
        { headers: ['retry-after', '5'] },
      ),
  })

  /** @throws {GatewayError} 429 */
  function checkQuota({ namespace }: WorkloadKey, ownName: string): void {
    const limit = quota.limitOf(namespace)
    if (limit === Number.POSITIVE_INFINITY) return
    let count = 0
    for (const upload of running) if (upload.namespace === namespace) count++
    // An upload of the same object is replaced, so it is not counted.
    for (const [name, upload] of waiting)
      if (upload.namespace === namespace && name !== ownName) count++
    if (count >= limit)
      throw quotaReached('runtime', 429, quota, {
        ...{ namespace, limit: `${limit} uploads`, used: `${count}` },
        remedy: 'deploy the uploads or wait until some have ended',
      })
  }

  function claim(key: WorkloadKey): string | undefined {
    const upload = waiting.get(toObjectKey(key))
    if (upload === undefined) return undefined
    clearTimeout(upload.timer)
    waiting.delete(toObjectKey(key))
    return upload.id
  }

  async function forget(key: WorkloadKey): Promise<void> {
    const id = claim(key)
    if (id !== undefined) await removeFolder(folders.upload(id))
  }

  function recordClaim(name: string): void {
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
      if (id !== undefined) recordClaim(toObjectKey(key))
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
          diskRoom.use(inTime, (ending) =>
            unpackSource(endWith(ending, parts, idleMs), folders.upload(id)),
          ),
        )
        // Runs synchronously, because a concurrent upload of the object may end.
        const earlier = claim(key)
        const timer = setTimeout(() => void forget(key).catch(() => {}), UNUSED_MS).unref()
        waiting.set(toObjectKey(key), { id, timer, namespace: key.namespace })
        if (earlier !== undefined) await removeFolder(folders.upload(earlier))
      } finally {
        release()
        running.delete(upload)
      }
    },

    async clean(retained) {
      const ids = await readdir(folders.uploads).catch(() => [])
      for (const id of ids) if (!retained.has(id)) await removeFolder(folders.upload(id))
    },
  }
}

interface Upload {
  readonly id: string
  /** Timer that expires an unused upload. */
  readonly timer: NodeJS.Timeout
  readonly namespace: string
}

/** Yields the chunks until the signal is aborted or the sender stalls. */
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
    end(timeout('runtime', `the upload stalled for ${formatDuration(idleMs)}`))
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
