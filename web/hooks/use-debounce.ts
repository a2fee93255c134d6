import { useEffect, useRef } from 'preact/hooks'

/** Returns a function that calls `act` after a delay, once for all calls made in the meantime. */
export function useDebounce(act: () => void, afterMs: number): () => void {
  const latest = useRef(act)
  latest.current = act
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, afterMs)
  }
}
