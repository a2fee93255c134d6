import { useEffect } from 'preact/hooks'
import { connection } from '../rpc/caller.ts'
import type { CallState } from './use-call.ts'

/**
 * Repeats a call while the page is visible and connected, even after errors.
 *
 * @param intervalMs time from a response to the next call.
 */
export function usePolling({ state, reload }: CallState<unknown>, intervalMs = 5000): void {
  useEffect(() => {
    if (state === 'loading') return undefined
    const timer = setInterval(() => {
      if (!document.hidden && connection.peek() === 'open') reload()
    }, intervalMs)
    return () => clearInterval(timer)
  }, [state, reload, intervalMs])
}
