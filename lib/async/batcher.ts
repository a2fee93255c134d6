import type { Maybe } from './maybe.ts'

export interface GroupCommitOptions<T, R> {
  /**
   * Commits items in order. Returns a result per item, or an error if only that item failed. Not called again before it
   * settles.
   */
  readonly commit: (items: readonly T[]) => Maybe<readonly (R | Error)[]>
  /** Returns the size of a pending item in bytes. */
  readonly sizeOf: (item: T) => number
  /** Returns the relative cost of an item. @default 1 */
  readonly countOf?: (item: T) => number
  /** Maximum pending bytes. @default 67108864 */
  readonly maxWaitingBytes?: number
  /** Creates the 503 error for items above that limit. */
  readonly toOverflowError: () => Error
}

/** Batches concurrent writes into few commits (group commit). */
export interface GroupCommit<T, R> {
  /**
   * Commits an item together with other pending items.
   *
   * @throws {Error} from `toOverflowError`, or the error of the item or its commit.
   */
  readonly push: (item: T) => Promise<R>
  /** Resolves when nothing is pending. */
  readonly drained: () => Promise<void>
}

/** Maximum total cost of a commit by `countOf`, which keeps event loop ticks short. A single item may exceed it. */
const MAX_COUNT = 2000
/** Maximum size of a commit in bytes. A single item may exceed it. */
const MAX_BYTES = 16 * 1024 * 1024

/** Items of a commit. They share one promise, from which the promises of the items derive. */
class Batch<T, R> {
  readonly items: T[] = []
  count = 0
  bytes = 0
  readonly outcomes: Promise<readonly (R | Error)[]>
  /** Resolves {@link outcomes}. */
  settle!: (outcomes: Promise<readonly (R | Error)[]>) => void

  constructor() {
    this.outcomes = new Promise((resolve) => {
      this.settle = resolve
    })
  }

  get isFull(): boolean {
    return this.count >= MAX_COUNT || this.bytes >= MAX_BYTES
  }

  add(item: T, count: number, bytes: number): Promise<R> {
    const at = this.items.push(item) - 1
    this.count += count
    this.bytes += bytes
    return this.outcomes.then((outcomes) => {
      const outcome = outcomes[at]!
      if (outcome instanceof Error) throw outcome
      return outcome
    })
  }
}

/**
 * Batches items that arrive in one event loop tick or while a commit is in flight. A commit of a thousand items costs
 * about as much as a commit of one item (bench/micro/store-commit.ts).
 */
export function createGroupCommit<T, R>({
  commit,
  sizeOf,
  countOf = () => 1,
  maxWaitingBytes = 64 * 1024 * 1024,
  toOverflowError,
}: GroupCommitOptions<T, R>): GroupCommit<T, R> {
  const waiting: Batch<T, R>[] = []
  let waitingBytes = 0
  let isBusy = false
  let onDrained: (() => void)[] = []

  function findBatch(): Batch<T, R> {
    const last = waiting.at(-1)
    if (last !== undefined && !last.isFull) return last
    const batch = new Batch<T, R>()
    waiting.push(batch)
    return batch
  }

  const run = async (): Promise<void> => {
    const batch = waiting.shift()!
    waitingBytes -= batch.bytes
    batch.settle((async () => commit(batch.items))())
    // The promises of the items report the failure.
    await batch.outcomes.catch(() => {})
    if (waiting.length > 0) {
      setImmediate(run)
      return
    }
    isBusy = false
    const resolvers = onDrained
    onDrained = []
    for (const resolve of resolvers) resolve()
  }

  return {
    push(item) {
      if (waitingBytes > maxWaitingBytes) return Promise.reject(toOverflowError())
      const bytes = sizeOf(item)
      waitingBytes += bytes
      const outcome = findBatch().add(item, countOf(item), bytes)
      if (!isBusy) {
        isBusy = true
        setImmediate(run)
      }
      return outcome
    },

    drained: () => (isBusy ? new Promise((resolve) => onDrained.push(resolve)) : Promise.resolve()),
  }
}
