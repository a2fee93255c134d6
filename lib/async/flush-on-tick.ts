/** A writer that buffers output until the end of the tick. */
export interface Flushable {
  flush(): void
}

let unflushed: Flushable[] = []

/**
 * Flushes `writer` at the end of this event loop tick, together with all other writers: one write per tick, with
 * consecutive system calls. The caller must not add a writer twice in a tick.
 */
export function flushAtTickEnd(writer: Flushable): void {
  if (unflushed.push(writer) === 1) setImmediate(flushAll)
}

function flushAll(): void {
  const writers = unflushed
  unflushed = []
  let next = 0
  try {
    while (next < writers.length) writers[next++]!.flush()
  } finally {
    // A callback threw; the remaining writers are flushed nonetheless.
    if (next < writers.length) {
      if (unflushed.length === 0) setImmediate(flushAll)
      unflushed.push(...writers.slice(next))
    }
  }
}
