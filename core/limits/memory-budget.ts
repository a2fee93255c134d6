import { totalmem } from 'node:os'
import { GatewayError } from '../errors.ts'

/** Space for two calls of maximum length (docs/protocol.md §1), even with little memory. */
const MIN_BYTES = 32 * 1024 * 1024
const MAX_BYTES = 256 * 1024 * 1024
/** A body may be in memory several times: as received, as a document, as a message, and in the send buffer. */
const SHARE = 1 / 16

/** Memory of one kind that this process uses, and its limit. */
export interface MemoryBudget {
  usedBytes: number
  maxBytes: number
}

const maxBytes = toMaxBytes(process.constrainedMemory(), totalmem())

/** Default limit of buffered bytes: together with other memory, well below 256 MiB. */
const BUFFERED_MAX_BYTES = 128 * 1024 * 1024

/**
 * Request bytes that are buffered: bodies that wait to be complete, for a response, or for a backend that is slow to read them,
 * and WebSocket messages for slow readers. Counted by `request-buffers.ts`.
 */
export const bodyMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MAX_BYTES),
}

/** Framed requests that wait for the result of a service, of all connections. Separate from the others: gateways send calls with and without bodies. */
export const callMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Incomplete frames of calls, of all connections. Separate from `bodyMemory`: clients of the gateway cannot fill it. */
export const frameMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MAX_BYTES),
}

/** Stream bodies that a proxy buffers for slow readers, of all calls. */
export const relayMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Long responses and results that callers have not read, of all exchanges and connections. */
export const replyMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Responses up to this size are always sent; about the size of a socket buffer. */
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
 * @param constrainedBytes memory limit of the process; no limit if 0 or more than `totalBytes`.
 */
export function toMaxBytes(constrainedBytes: number, totalBytes: number): number {
  const bytes = toMemoryBytes(constrainedBytes, totalBytes)
  return Math.min(Math.max(Math.floor(bytes * SHARE), MIN_BYTES), MAX_BYTES)
}

/**
 * Returns the memory available to the process: the limit of its control group, else the memory of the machine.
 *
 * @param constrainedBytes as in {@link toMaxBytes}.
 */
export function toMemoryBytes(
  constrainedBytes: number = process.constrainedMemory(),
  totalBytes: number = totalmem(),
): number {
  return constrainedBytes > 0 ? Math.min(constrainedBytes, totalBytes) : totalBytes
}

/** Error of a request whose body exceeds the budget. */
export function rejectBody(id: string): GatewayError {
  const detail = 'too many request bodies are in flight, try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}

/** Error in place of a response that exceeds the budget. */
export function rejectResponse(id: string): GatewayError {
  const detail = 'too many responses are pending for slow clients, try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}
