import type { Maybe } from './maybe.ts'

/** What is to be closed together. */
export interface Disposer {
  /** Adds what was opened just now. */
  readonly add: (close: () => Maybe<unknown>) => void
  /**
   * Closes everything, what was opened last first. One that fails keeps none of the others from being closed.
   *
   * @throws what the first one threw, once all were asked.
   */
  readonly close: () => Promise<void>
}

export function createClosing(): Disposer {
  const opened: (() => Maybe<unknown>)[] = []
  let closing: Promise<void> | undefined

  async function closeAll(): Promise<void> {
    const failures: unknown[] = []
    for (let close = opened.pop(); close !== undefined; close = opened.pop()) {
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  return {
    add(close) {
      opened.push(close)
    },

    close() {
      closing ??= closeAll()
      return closing
    },
  }
}
