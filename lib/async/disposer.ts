import type { Maybe } from './maybe.ts'

/** Resources that are closed together, like an `AsyncDisposableStack`. */
export interface Disposer {
  /** Adds a resource. */
  readonly add: (close: () => Maybe<unknown>) => void
  /**
   * Closes all resources in reverse order, even after failures.
   *
   * @throws the first error, after all resources have been closed.
   */
  readonly close: () => Promise<void>
}

export function createDisposer(): Disposer {
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
