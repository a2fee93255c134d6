import { replyMemory } from './memory-budget.ts'

/** A streamed response waiting for a slow client. */
export interface WaitingReply {
  /** Ends the response because waiting responses use too much memory in total. */
  abortWaiting(): void
}

/**
 * Share of `replyMemory` for streamed responses. The rest is for complete responses, which are rejected once it is used
 * up.
 */
const SHARE = 1 / 2

/** Reserved bytes by response, longest wait first. */
const reservations = new Map<WaitingReply, number>()
let reservedBytes = 0

/**
 * Reserves memory for a response that starts waiting, until {@link endWait} is called. If reservations exceed half of
 * `replyMemory`, the responses with the longest wait end, which may include this one.
 *
 * @param bytes maximum number of bytes that may arrive during the wait.
 */
export function beginWait(reply: WaitingReply, bytes: number): void {
  if (reservations.has(reply)) return
  reservations.set(reply, bytes)
  reservedBytes += bytes
  replyMemory.usedBytes += bytes
  for (const longest of reservations.keys()) {
    if (reservedBytes <= replyMemory.maxBytes * SHARE) return
    endWait(longest)
    longest.abortWaiting()
  }
}

/** Releases the reservation made by {@link beginWait}, if any. */
export function endWait(reply: WaitingReply): void {
  const bytes = reservations.get(reply)
  if (bytes === undefined) return
  reservations.delete(reply)
  reservedBytes -= bytes
  replyMemory.usedBytes -= bytes
}
