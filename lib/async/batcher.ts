import type { Maybe } from './maybe.ts'

export interface GroupCommitOptions<T, R> {
  /** Does what is given, in order; tells of each what became of it, an error where it failed alone. Not called again before it has settled. */
  readonly commit: (items: readonly T[]) => Maybe<readonly (R | Error)[]>
  /** Bytes an item takes while it waits. */
  readonly sizeOf: (item: T) => number
  /** How much work an item is, next to others. @default 1 of each */
  readonly countOf?: (item: T) => number
  /** Most bytes that wait. @default 67108864 */
  readonly maxWaitingBytes?: number
  /** What is thrown when more is waiting already: 503. */
  readonly tooMuch: () => Error
}

/** What many callers want written, on its way to whoever writes. */
export interface GroupCommit<T, R> {
  /**
   * Has an item committed with what else is waiting then.
   *
   * @throws {Error} `tooMuch`, or what became of it.
   */
  readonly push: (item: T) => Promise<R>
  /** Resolves when nothing is waiting and nothing is being committed. */
  readonly drained: () => Promise<void>
}

/** By `countOf`, of one commit: what is done in one turn of the event loop has to be short. A single item may be more. */
const MAX_COUNT = 2000
/** Bytes of one commit; a single item may be longer. */
const MAX_BYTES = 16 * 1024 * 1024

/** What one commit takes. A promise for all of it: each item has but what follows from that. */
class Batch<T, R> {
  readonly items: T[] = []
  count = 0
  bytes = 0
  readonly outcomes: Promise<readonly (R | Error)[]>
  /** How {@link outcomes} turn out. */
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
 * Joins what comes in one turn of the event loop, and while another commit is under way: a commit costs about the same for one
 * item as for a thousand (bench/micro/store-commit.ts).
 */
export function createGroupCommit<T, R>({
  commit,
  sizeOf,
  countOf = () => 1,
  maxWaitingBytes = 64 * 1024 * 1024,
  tooMuch,
}: GroupCommitOptions<T, R>): GroupCommit<T, R> {
  const waiting: Batch<T, R>[] = []
  let waitingBytes = 0
  let isBusy = false
  let onDrained: (() => void)[] = []

  function findRoom(): Batch<T, R> {
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
    // What failed was told to whom it concerns.
    await batch.outcomes.catch(() => {})
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
    push(item) {
      if (waitingBytes > maxWaitingBytes) return Promise.reject(tooMuch())
      const bytes = sizeOf(item)
      waitingBytes += bytes
      const outcome = findRoom().add(item, countOf(item), bytes)
      if (!isBusy) {
        isBusy = true
        setImmediate(run)
      }
      return outcome
    },

    drained: () => (isBusy ? new Promise((resolve) => onDrained.push(resolve)) : Promise.resolve()),
  }
}
