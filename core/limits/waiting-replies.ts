import { replyMemory } from './memory-budget.ts'

/** A streamed response that waits for a slow client. */
export interface WaitingReply {
  /** Ends the response, because waiting responses use too much memory in total. */
  cutWaiting(): void
}

/** Share of `replyMemory`; the rest is for complete responses, which are rejected beyond it. */
const SHARE = 1 / 2

/** Reserved bytes, longest wait first. */
const reservations = new Map<WaitingReply, number>()
let reservedBytes = 0

/**
 * Reserves memory for a response that begins to wait, until {@link endWait}. Beyond half of `replyMemory`, the responses that have
 * waited longest are ended, which may include this one.
 *
 * @param bytes maximum that may arrive while it waits.
 */
export function beginWait(reply: WaitingReply, bytes: number): void {
  if (reservations.has(reply)) return
  reservations.set(reply, bytes)
  reservedBytes += bytes
  replyMemory.usedBytes += bytes
  for (const longest of reservations.keys()) {
    if (reservedBytes <= replyMemory.maxBytes * SHARE) return
    endWait(longest)
    longest.cutWaiting()
  }
}

/** Releases the reservation of {@link beginWait}, if any. */
export function endWait(reply: WaitingReply): void {
  const bytes = reservations.get(reply)
  if (bytes === undefined) return
  reservations.delete(reply)
  reservedBytes -= bytes
  replyMemory.usedBytes -= bytes
}
