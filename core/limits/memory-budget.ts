import { totalmem } from 'node:os'
import { GatewayError } from '../errors.ts'

/** Room for two of the longest that calls take (docs/protocol.md §1), however little memory there is. */
const LEAST_BYTES = 32 * 1024 * 1024
const MOST_BYTES = 256 * 1024 * 1024
/** On its way a body may lie in memory several times: as it came, as a document, as a message, and before the kernel. */
const SHARE = 1 / 16

/** How much of one kind this process keeps, and may keep. */
export interface MemoryBudget {
  usedBytes: number
  maxBytes: number
}

const maxBytes = toMaxBytes(process.constrainedMemory(), totalmem())

/** Most of them by default: with what the process takes otherwise, well below 256 MiB. */
const BUFFERED_MOST_BYTES = 128 * 1024 * 1024

/**
 * Request bytes that are buffered: bodies that wait to be complete, for a response, or for a backend that is slow to read them,
 * and WebSocket messages for slow readers. Counted by `request-buffers.ts`.
 */
export const bodyMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MOST_BYTES),
}

/** Requests in frames that wait for the answer of a service, of all connections together. Apart from the others: gateways send calls with and without bodies. */
export const callMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Frames of calls that have arrived in part, of all connections together. Apart from `bodyMemory`: clients of the gateway cannot fill it. */
export const frameMemory: MemoryBudget = {
  usedBytes: 0,
  maxBytes: Math.min(maxBytes, BUFFERED_MOST_BYTES),
}

/** Bodies of streams that wait in a proxy for an end that is slow to take them, of all calls together. */
export const relayMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Long answers that callers have not taken, of all exchanges and connections together. */
export const replyMemory: MemoryBudget = { usedBytes: 0, maxBytes }

/** Bytes up to which an answer is sent whatever waits already; about what the memory of a socket takes. */
export const LONG_REPLY_BYTES: number = 256 * 1024

/**
 * Whether an answer may wait for its caller.
 *
 * @param longBytes up to which it always may.
 */
export function mayWait(
  { length }: string | Uint8Array,
  longBytes: number = LONG_REPLY_BYTES,
): boolean {
  return length <= longBytes || replyMemory.usedBytes + length <= replyMemory.maxBytes
}

/**
 * How much of them there may be, by the memory there is.
 *
 * @param constrainedBytes what the process may have; 0 or more than there is: no limit.
 */
export function toMaxBytes(constrainedBytes: number, totalBytes: number): number {
  const bytes = toMemoryBytes(constrainedBytes, totalBytes)
  return Math.min(Math.max(Math.floor(bytes * SHARE), LEAST_BYTES), MOST_BYTES)
}

/**
 * Memory that the process may have: that of its control group, else that of the machine.
 *
 * @param constrainedBytes as in {@link toMaxBytes}.
 */
export function toMemoryBytes(
  constrainedBytes: number = process.constrainedMemory(),
  totalBytes: number = totalmem(),
): number {
  return constrainedBytes > 0 ? Math.min(constrainedBytes, totalBytes) : totalBytes
}

/** The answer to a request whose body finds no room; a moment later it may. */
export function rejectBody(id: string): GatewayError {
  const detail = 'too many request bodies are under way, try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}

/** The answer instead of one that finds no room. */
export function rejectResponse(id: string): GatewayError {
  const detail = 'too many answers wait for callers that are slow to take them, try again later'
  return new GatewayError(id, 503, detail, { headers: ['retry-after', '1'] })
}
