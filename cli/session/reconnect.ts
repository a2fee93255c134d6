import { setTimeout as pause } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.ts'
import { printProblems } from '../ui/output.ts'

/** Maximum time that a stream tries to reconnect after its connection was lost. */
const RECONNECT_TIMEOUT_MS = 5 * 60_000
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 5000

/** Reconnects a stream. */
export interface Reconnect {
  /** Must be called when the server has accepted the stream. */
  readonly onOpen: () => void
  /**
   * Waits until the next attempt, from 250 ms up to 5 s, or until the stop signal. Reports the first failure on
   * standard error.
   *
   * @returns false immediately if the stream was never open, the error is permanent, or the connection has been lost
   * for 5 minutes.
   */
  readonly waitAfter: (error: unknown) => Promise<boolean>
}

/**
 * @param address address of the server, for messages
 * @param stop aborted when the program ends the stream
 */
export function createReconnect(address: string, stop?: AbortSignal): Reconnect {
  let wasOpen = false
  let disconnectedMs: number | undefined
  let pauseMs = MIN_PAUSE_MS

  return {
    onOpen() {
      wasOpen = true
      if (disconnectedMs !== undefined) printProblems([`reconnected to ${address}`])
      disconnectedMs = undefined
      pauseMs = MIN_PAUSE_MS
    },

    async waitAfter(error) {
      if (!wasOpen || !isTransient(error)) return false
      const nowMs = performance.now()
      if (disconnectedMs === undefined) {
        // The last messages of the stream may be lost.
        if (stop?.aborted) return false
        printProblems([`stream interrupted: ${error.message}; reconnecting to ${address}`])
      }
      disconnectedMs ??= nowMs
      if (nowMs - disconnectedMs > RECONNECT_TIMEOUT_MS) return false
      await pause(pauseMs, undefined, { signal: stop }).catch(() => {})
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
      return true
    },
  }
}

/** True if the server is stopping, starting or unreachable. */
function isTransient(error: unknown): error is GatewayError {
  return error instanceof GatewayError && (error.code === 502 || error.code === 503)
}
