import { useEffect } from 'preact/hooks'
import { connection } from '../rpc/caller.ts'
import type { CallState } from './use-call.ts'

/** Calls again now and then, also after a failure, as long as the page is looked at and connected. @param everyMs between an answer and the next call. */
export function usePolling({ state, reload }: CallState<unknown>, everyMs = 5000): void {
  useEffect(() => {
    if (state === 'loading') return undefined
    const timer = setInterval(() => {
      if (!document.hidden && connection.peek() === 'open') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [state, reload, everyMs])
}
