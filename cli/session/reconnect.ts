import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.ts'
import { printProblems } from '../ui/output.ts'

/** How long a stream tries to reconnect after its connection was lost. */
const GIVE_UP_MS = 5 * 60_000
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 5000

/** Reconnects of one stream. */
export interface Reconnect {
  /** Call when the server has accepted the stream. */
  readonly onOpen: () => void
  /**
   * Waits until the next attempt, 250 ms at first, 5 s at most, or until the stop signal; reports the first failure on standard error.
   *
   * @returns false at once if the stream was never open, the error is final, or the connection has been lost for 5 minutes.
   */
  readonly waitAfter: (error: unknown) => Promise<boolean>
}

/**
 * @param address of the server, for messages
 * @param stop aborted when the program ends the stream
 */
export function createReconnect(address: string, stop?: AbortSignal): Reconnect {
  let wasOpen = false
  let lostAtMs: number | undefined
  let pauseMs = MIN_PAUSE_MS

  return {
    onOpen() {
      wasOpen = true
      if (lostAtMs !== undefined) printProblems([`reconnected to ${address}`])
      lostAtMs = undefined
      pauseMs = MIN_PAUSE_MS
    },

    async waitAfter(error) {
      if (!wasOpen || !isTransient(error)) return false
      const nowMs = performance.now()
      if (lostAtMs === undefined) {
        // The last messages of the stream are lost.
        if (stop?.aborted) return false
        printProblems([`stream interrupted: ${error.message}; reconnecting to ${address}`])
      }
      lostAtMs ??= nowMs
      if (nowMs - lostAtMs > GIVE_UP_MS) return false
      await pause(pauseMs, undefined, { signal: stop }).catch(() => {})
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
      return true
    },
  }
}

/** Whether the server is stopping, starting or unreachable. */
function isTransient(error: unknown): error is GatewayError {
  return error instanceof GatewayError && (error.code === 502 || error.code === 503)
}
