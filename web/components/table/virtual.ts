import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Rows that are drawn above and below what is seen. */
const MARGIN = 12

export interface VisibleRows {
  /** First row to draw, and the one behind the last. */
  readonly from: number
  readonly to: number
  /** Pixels that the rows above and below would take. */
  readonly above: number
  readonly below: number
}

/**
 * Which rows of a long list a scrolling element shows: only they are drawn.
 *
 * @param rowHeight pixels of each row.
 */
export function useVisibleRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): VisibleRows {
  const [{ top, height }, setView] = useState({ top: 0, height: 800 })
  const [element, setElement] = useState<HTMLElement | null>(null)
  // A list that was empty, and drew none, has another one.
  useEffect(() => setElement(scroller.current))
  useEffect(() => {
    if (element === null) return undefined
    const measure = (): void => {
      const next = { top: element.scrollTop, height: element.clientHeight }
      setView((before) =>
        Math.abs(before.top - next.top) < rowHeight && before.height === next.height
          ? before
          : next,
      )
    }
    measure()
    element.addEventListener('scroll', measure, { passive: true })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', measure)
      observer.disconnect()
    }
  }, [element, rowHeight])
  const from = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - MARGIN)
  const to = Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN)
  return { from, to, above: from * rowHeight, below: Math.max(0, (count - to) * rowHeight) }
}
