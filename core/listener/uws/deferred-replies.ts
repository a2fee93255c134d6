/** A response with writes deferred to the end of the tick. */
export interface DeferredReply {
  release(): void
}

/**
 * Number of the current event loop tick.
 *
 * After a synchronous response, µWebSockets parses pipelined bytes of the same segment even if the response closes the
 * connection, so that one request could become two. Only a later macrotask prevents this, so responses to requests with
 * a body are deferred to the end of the tick.
 */
export let tick = 0
let isFlushScheduled = false
let deferred: DeferredReply[] = []

/** Returns {@link tick}, and increments it at the end of the tick. */
export function deferUntilNextTick(): number {
  if (!isFlushScheduled) {
    isFlushScheduled = true
    setImmediate(flushTick)
  }
  return tick
}

/** Releases `reply` at the end of the tick of the last {@link deferUntilNextTick}. */
export function deferReply(reply: DeferredReply): void {
  deferred.push(reply)
}

function flushTick(): void {
  tick++
  isFlushScheduled = false
  const replies = deferred
  deferred = []
  for (const reply of replies) reply.release()
}
