/** Lets so many do something at a time, in the order they came. */
export interface Turns {
  /**
   * Waits for a turn.
   *
   * @returns what ends it.
   * @throws the signal's reason.
   */
  readonly take: (signal: AbortSignal) => Promise<() => void>
}

export function createTurns(most: number): Turns {
  const waiting = new Set<() => void>()
  let running = 0

  const wake = (): void => {
    for (const next of waiting) return next()
  }

  /** Resolves when there may be a turn, and when the signal is aborted. */
  const wait = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        waiting.delete(end)
        signal.removeEventListener('abort', end)
        resolve()
      }
      waiting.add(end)
      signal.addEventListener('abort', end)
    })

  return {
    async take(signal) {
      while (running >= most && !signal.aborted) await wait(signal)
      if (signal.aborted) {
        // It may have been this one that was told.
        wake()
        throw signal.reason
      }
      running++
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        running--
        wake()
      }
    },
  }
}
