import { useEffect, useRef } from 'preact/hooks'

/** Has something done after a while: once, however often it is asked for meanwhile. */
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
