import type { UpstreamCall } from '../call.ts'
import type { Http1Connection } from './connection.ts'

/** Maximum size of a response that is discarded to preserve a pipelined connection, in bytes. */
const DISCARD_MAX_BYTES = 256 * 1024

/** True if the response to a call is still expected. */
export function isAlive(call: UpstreamCall | undefined): boolean {
  return call !== undefined && call.head !== ''
}

/** Replaces a canceled call whose response is discarded. Marked by an empty head. */
export function discard(call: UpstreamCall, connection: Http1Connection): UpstreamCall {
  let remainingBytes = DISCARD_MAX_BYTES
  return {
    method: call.method,
    head: '',
    bodyLength: 0,
    isRepeat: false,
    headAndBody: '',
    idempotent: true,
    isPatient: false,
    timeouts: undefined,
    connection,
    deadlineMs: Number.POSITIVE_INFINITY,
    onReady: () => {},
    onUnsent: () => {},
    onBodyDrain: () => {},
    onReply: () => {},
    onReplyHead: () => {},
    onReplyBody: (chunk) => {
      remainingBytes -= chunk.length
      if (remainingBytes < 0) connection.destroy()
      return true
    },
    onReplyEnd: () => {},
    onFailure: () => {},
  }
}
