import { totalmem } from 'node:os'
import { GatewayError } from '../errors.ts'

/** Minimum even with little memory: two calls of maximum length (docs/protocol.md §1). */
const MIN_BYTES = 32 * 1024 * 1024
const MAX_BYTES = 256 * 1024 * 1024
/** A body may be in memory several times: as received, as a document, as a message, and in the send buffer. */
const SHARE = 1 / 16

/** Memory of one kind used by this process, and its limit. */
export interface MemoryBudget {
  usedBytes: number
  maxBytes: number
}

const maxBytes = toMaxBytes(process.constrainedMemory(), totalmem())

/** Default limit of buffered bytes, which keeps the total memory well below 256 MiB. */
const BUFFERED_MAX_BYTES = 128 * 1024 * 1024

/**
 * Buffered request bytes: incomplete bodies, bodies waiting for a response or a slow backend, and WebSocket messages
 * for slow readers. Counted by `request-buffers.ts`.
 */
export const bodyMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MAX_BYTES),
}

/**
 * Framed requests waiting for the result of a service, on all connections. Separate because gateways send calls with
 * and without bodies.
 */
export const callMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/**
 * Incomplete frames of calls on all connections. Separate from `bodyMemory`, so that gateway clients cannot exhaust it.
 */
export const frameMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MAX_BYTES),
}

/** Stream bodies buffered by a proxy for slow readers, for all calls. */
export const relayMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Long responses and results not yet read by callers, for all exchanges and connections. */
export const replyMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Responses up to this size are always sent. About the size of a socket buffer. */
export const LONG_REPLY_BYTES: number = 256 * 1024

/**
 * Whether a response may be buffered until its caller reads it.
 *
 * @param longBytes size up to which a response is always buffered.
 */
export function mayWait(
  { length }: string | Uint8Array,
  longBytes: number = LONG_REPLY_BYTES,
): boolean {
  return length <= longBytes || replyMemory.usedBytes + length <= replyMemory.maxBytes
}

/**
 * Returns the budget for an amount of memory.
 *
 * @param constrainedBytes memory limit of the process; values of 0 or above `totalBytes` mean no limit.
 */
export function toMaxBytes(constrainedBytes: number, totalBytes: number): number {
  const bytes = toMemoryBytes(constrainedBytes, totalBytes)
  return Math.min(Math.max(Math.floor(bytes * SHARE), MIN_BYTES), MAX_BYTES)
}

/**
 * Returns the memory available to the process: the limit of its control group, or else the memory of the machine.
 *
 * @param constrainedBytes see {@link toMaxBytes}.
 */
export function toMemoryBytes(
  constrainedBytes: number = process.constrainedMemory(),
  totalBytes: number = totalmem(),
): number {
  return constrainedBytes > 0 ? Math.min(constrainedBytes, totalBytes) : totalBytes
}

/** Creates the error for a request whose body exceeds the budget. */
export function rejectBody(id: string): GatewayError {
  const detail = 'too many request bodies in flight; try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}

/** Creates the error that replaces a response exceeding the budget. */
export function rejectResponse(id: string): GatewayError {
  const detail = 'too many responses pending for slow clients; try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}
