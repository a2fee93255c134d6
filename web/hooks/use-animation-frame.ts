import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** Returns a function that re-renders the component, at most once per frame. */
export function useAnimationFrame(): () => void {
  const [, setRevision] = useState(0)
  const pending = useRef(0)
  useEffect(() => () => cancelAnimationFrame(pending.current), [])
  return useCallback(() => {
    if (pending.current !== 0) return
    pending.current = requestAnimationFrame(() => {
      pending.current = 0
      setRevision((n) => n + 1)
    })
  }, [])
}
