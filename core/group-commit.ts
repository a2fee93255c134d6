import type { Maybe } from './chain.ts'

export interface GroupCommitOptions<T, R> {
  /** Does what is given, in order; tells of each what became of it, an error where it failed alone. Not called again before it has settled. */
  readonly commit: (items: readonly T[]) => Maybe<readonly (R | Error)[]>
  /** Bytes an item takes while it waits. */
  readonly sizeOf: (item: T) => number
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

interface Waiting<T, R> {
  readonly item: T
  readonly bytes: number
  readonly resolve: (outcome: R) => void
  readonly reject: (error: unknown) => void
}

/** Items of one commit: what is done in one turn of the event loop has to be short. */
const MAX_ITEMS = 2000
/** Bytes of one commit; a single item may be longer. */
const MAX_BYTES = 16 * 1024 * 1024

/**
 * Joins what comes in one turn of the event loop, and while another commit is under way: a commit costs about the same for one
 * item as for a thousand (bench/micro/store-commit.ts).
 */
export function createGroupCommit<T, R>({
  commit,
  sizeOf,
  maxWaitingBytes = 64 * 1024 * 1024,
  tooMuch,
}: GroupCommitOptions<T, R>): GroupCommit<T, R> {
  let waiting: Waiting<T, R>[] = []
  let waitingBytes = 0
  let isBusy = false
  let onDrained: (() => void)[] = []

  function take(): Waiting<T, R>[] {
    let count = 0
    let bytes = 0
    while (count < waiting.length && count < MAX_ITEMS && bytes < MAX_BYTES)
      bytes += waiting[count++]!.bytes
    waitingBytes -= bytes
    const taken = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return taken
  }

  async function commitAll(taken: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await commit(taken.map(({ item }) => item))
      for (let i = 0; i < taken.length; i++) {
        const outcome = outcomes[i]!
        if (outcome instanceof Error) taken[i]!.reject(outcome)
        else taken[i]!.resolve(outcome)
      }
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
  }

  const run = async (): Promise<void> => {
    await commitAll(take())
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
    push: (item) =>
      new Promise((resolve, reject) => {
        if (waitingBytes > maxWaitingBytes) {
          reject(tooMuch())
          return
        }
        const bytes = sizeOf(item)
        waitingBytes += bytes
        waiting.push({ item, bytes, resolve, reject })
        if (isBusy) return
        isBusy = true
        setImmediate(run)
      }),

    drained: () => (isBusy ? new Promise((resolve) => onDrained.push(resolve)) : Promise.resolve()),
  }
}
