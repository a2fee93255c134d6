/**
 * A request body paused by its reader. The library buffers bytes that arrive during the pause, up to the stream's
 * window.
 */
export interface UnreadBody {
  countUnread(): void
}

/** Interval before a paused body is counted; a client may send as much as the network carries in this time. */
const COUNT_MS = 100

const paused = new Set<UnreadBody>()
let timer: NodeJS.Timeout | undefined

/** Counts the buffered bytes of a paused body, repeatedly until {@link unwatchUnread}. */
export function watchUnread(body: UnreadBody): void {
  paused.add(body)
  timer ??= setInterval(countAll, COUNT_MS).unref()
}

export function unwatchUnread(body: UnreadBody): void {
  paused.delete(body)
}

function countAll(): void {
  for (const body of paused) body.countUnread()
  if (paused.size > 0) return
  clearInterval(timer)
  timer = undefined
}
