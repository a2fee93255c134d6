/** A reply that has something to send once the turn of the event loop is over. */
export interface DeferredReply {
  release(): void
}

/**
 * The turn of the event loop that is under way.
 *
 * µWebSockets goes on with pipelined bytes of the same segment after a synchronous answer, even one that closes the connection: one request
 * would become two. Only a later macrotask stops it, so what answers a request with a body is held until the turn is over.
 */
export let tick = 0
let turnEnds = false
let held: DeferredReply[] = []

/** {@link tick}, which from now on is another one once it is over. */
export function deferUntilNextTick(): number {
  if (!turnEnds) {
    turnEnds = true
    setImmediate(endTurn)
  }
  return tick
}

/** Has `reply` released when the turn is over that {@link deferUntilNextTick} was asked for. */
export function deferReply(reply: DeferredReply): void {
  held.push(reply)
}

function endTurn(): void {
  tick++
  turnEnds = false
  const replies = held
  held = []
  for (const reply of replies) reply.release()
}
