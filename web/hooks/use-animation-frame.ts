import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** Has the component drawn anew, once a frame however often it is asked to. */
export function useAnimationFrame(): () => void {
  const [, setTurn] = useState(0)
  const waiting = useRef(0)
  useEffect(() => () => cancelAnimationFrame(waiting.current), [])
  return useCallback(() => {
    if (waiting.current !== 0) return
    waiting.current = requestAnimationFrame(() => {
      waiting.current = 0
      setTurn((turn) => turn + 1)
    })
  }, [])
}
