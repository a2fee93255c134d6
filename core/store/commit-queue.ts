import type { StoreAdapter, StoreGroup, StoreOutcome } from '../contracts/store.ts'
import { refuse } from './errors.ts'

export interface CommitQueueOptions {
  /** Most bytes of values and metadata that wait. @default 67108864 */
  readonly maxWaitingBytes?: number
  readonly nowMs: () => number
}

/** Commits of many callers on their way to an adapter. */
export interface CommitQueue {
  /**
   * Has a group committed with what else is waiting then.
   *
   * @throws {GatewayError} 503 when too much is waiting already.
   */
  readonly push: (group: StoreGroup) => Promise<StoreOutcome>
  /** Resolves when nothing is waiting and nothing is being committed. */
  readonly drained: () => Promise<void>
}

interface Waiting {
  readonly group: StoreGroup
  readonly bytes: number
  readonly resolve: (outcome: StoreOutcome) => void
  readonly reject: (error: unknown) => void
}

/** Groups of one commit: what is done in one turn of the event loop has to be short. */
const MAX_GROUPS = 2000
/** Bytes of one commit; a single group may be longer. */
const MAX_BYTES = 16 * 1024 * 1024
/** What a change takes besides its key, value and metadata. */
const CHANGE_BYTES = 200

/**
 * Joins what comes in one turn of the event loop, and while another commit is under way: a commit costs about the same for one
 * group as for a thousand (bench/micro/store-commit.ts).
 */
export function createCommitQueue(
  adapter: StoreAdapter,
  { maxWaitingBytes = 64 * 1024 * 1024, nowMs }: CommitQueueOptions,
): CommitQueue {
  let waiting: Waiting[] = []
  let waitingBytes = 0
  let isBusy = false
  let onDrained: (() => void)[] = []

  function take(): Waiting[] {
    let count = 0
    let bytes = 0
    while (count < waiting.length && count < MAX_GROUPS && bytes < MAX_BYTES)
      bytes += waiting[count++]!.bytes
    waitingBytes -= bytes
    const taken = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return taken
  }

  async function commit(taken: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await adapter.commit(
        taken.map(({ group }) => group),
        nowMs(),
      )
      for (const [index, { resolve }] of taken.entries()) resolve(outcomes[index]!)
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
  }

  const run = async (): Promise<void> => {
    await commit(take())
    if (waiting.length > 0) {
      setImmediate(run)
      return
    }
    isBusy = false
    const told = onDrained
    onDrained = []
    for (const tell of told) tell()
  }

  return {
    push: (group) =>
      new Promise((resolve, reject) => {
        if (waitingBytes > maxWaitingBytes) {
          reject(refuse(503, 'too many writes are waiting'))
          return
        }
        const bytes = sizeOf(group)
        waitingBytes += bytes
        waiting.push({ group, bytes, resolve, reject })
        if (isBusy) return
        isBusy = true
        setImmediate(run)
      }),

    drained: () => (isBusy ? new Promise((resolve) => onDrained.push(resolve)) : Promise.resolve()),
  }
}

function sizeOf(group: StoreGroup): number {
  let size = 0
  for (const { key, value, metadata } of group) {
    size += CHANGE_BYTES + key.length + (value?.length ?? 0)
    for (const name in metadata) size += name.length + metadata[name]!.length
  }
  return size
}
