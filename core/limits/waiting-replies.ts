import { replyMemory } from './memory-budget.ts'

/** A streamed response that waits for a client which reads slowly. */
export interface WaitingReply {
  /** Ends it, because responses that wait take too much memory together. */
  cutWaiting(): void
}

/** Of `replyMemory`: the rest is for whole responses, which are rejected where there is no room. */
const SHARE = 1 / 2

/** Bytes reserved for each, the one that has waited longest first. */
const reservations = new Map<WaitingReply, number>()
let reservedBytes = 0

/**
 * Reserves memory for a response that begins to wait, until {@link endWait}. Without room in half of `replyMemory`, the responses
 * that have waited longest are ended, which may include this one.
 *
 * @param bytes most that arrives of it while it waits.
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

/** Releases what {@link beginWait} reserved, if anything. */
export function endWait(reply: WaitingReply): void {
  const bytes = reservations.get(reply)
  if (bytes === undefined) return
  reservations.delete(reply)
  reservedBytes -= bytes
  replyMemory.usedBytes -= bytes
}
