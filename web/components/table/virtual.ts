import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Number of extra rows rendered above and below the viewport. */
const MARGIN = 12

export interface VisibleRows {
  /** Range of rows to render; `to` is exclusive. */
  readonly from: number
  readonly to: number
  /** Height in pixels of the rows not rendered above and below. */
  readonly above: number
  readonly below: number
}

/**
 * Computes the visible rows of a virtualized list.
 *
 * @param rowHeight row height in pixels.
 */
export function useVisibleRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
): VisibleRows {
  const [{ top, height }, setView] = useState({ top: 0, height: 800 })
  const [element, setElement] = useState<HTMLElement | null>(null)
  // An empty list renders no scroller, and the element may change with each render.
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
