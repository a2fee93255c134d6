/** A reply that has something to send once the turn of the event loop is over. */
export interface HeldReply {
  release(): void
}

/**
 * The turn of the event loop that is under way.
 *
 * µWebSockets goes on with pipelined bytes of the same segment after a synchronous answer, even one that closes the connection: one request
 * would become two. Only a later macrotask stops it, so what answers a request with a body is held until the turn is over.
 */
export let turn = 0
let turnEnds = false
let held: HeldReply[] = []

/** {@link turn}, which from now on is another one once it is over. */
export function holdTurn(): number {
  if (!turnEnds) {
    turnEnds = true
    setImmediate(endTurn)
  }
  return turn
}

/** Has `reply` released when the turn is over that {@link holdTurn} was asked for. */
export function holdReply(reply: HeldReply): void {
  held.push(reply)
}

function endTurn(): void {
  turn++
  turnEnds = false
  const replies = held
  held = []
  for (const reply of replies) reply.release()
}
