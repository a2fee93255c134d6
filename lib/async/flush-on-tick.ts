/** What holds output back until the turn of the event loop is over. */
export interface Flushable {
  flush(): void
}

let unflushed: Flushable[] = []

/**
 * Has `writer` flushed when this turn of the event loop is over, together with all others: what was written in one turn
 * goes out in one write, and system calls follow one another. Not twice in a turn: that is for the caller to see to.
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
    // A callback threw: the others' output is not to wait for it.
    if (next < writers.length) {
      if (unflushed.length === 0) setImmediate(flushAll)
      unflushed.push(...writers.slice(next))
    }
  }
}
