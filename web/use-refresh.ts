import { useEffect } from 'preact/hooks'
import type { CallState } from './hooks.ts'

/** Calls again now and then, as long as the page is looked at and the last call did not fail. @param everyMs between an answer and the next call. */
export function useRefresh({ state, reload }: CallState<unknown>, everyMs = 5000): void {
  useEffect(() => {
    if (state !== 'ready') return undefined
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [state, reload, everyMs])
}
