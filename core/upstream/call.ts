import type { HeaderList } from '../http/headers.ts'
import type { Http1Connection } from './http1/connection.ts'

/**
 * Why a call failed.
 * - `connect`: no connection came about; the request was not sent.
 * - `connect-timeout`: the same, by the clock.
 * - `full`: all connections are busy and the queue for them is full; not sent.
 * - `closed`: the backend closed the connection before the end of its reply.
 * - `timeout`: the backend took too long.
 * - `malformed`: the backend's reply is not HTTP/1.1 (RFC 9112).
 */
export type FailureKind =
  | 'connect'
  | 'connect-timeout'
  | 'full'
  | 'closed'
  | 'timeout'
  | 'malformed'

/** A failed call. Expected, so a plain object without a stack. */
export interface UpstreamFailure {
  readonly kind: FailureKind
  readonly detail: string
  /** Another call on the same connection is why: says nothing more about the backend. */
  readonly collateral: boolean
}

/** One request to a backend, and the receiver of its reply. */
export interface UpstreamCall {
  readonly method: string
  /** Request line and header fields, complete with the empty line; one character a byte. */
  readonly head: string
  /** Bytes of the request body; 0: none; -1: sent in chunks. */
  readonly bodyLength: number
  /** May be sent twice without harm (GET and HEAD), so it may share a pipelined connection. */
  readonly idempotent: boolean
  /** Its caller watches its time: it may wait for the reply, and between two pieces of it, for as long as it likes. */
  readonly isPatient: boolean
  /** The connection it was sent on; undefined while it waits for one. Set by the connection. */
  connection: Http1Connection | undefined
  /** It is a repeat: kept connections of the node may have ended as the one it failed on, so it takes a new one. */
  isRepeat: boolean
  /** Head and body, once the connection has all of a short body; they go out again if none of it was sent. Set by the connection. */
  whole: string
  /** `clock.nowMs` by when its reply must have begun, also behind others; 0: its bytes have not left yet. Set by the connection. */
  deadlineMs: number

  /** The connection is open: the body may follow by `sendBody`. Only for calls that have one. */
  readonly onReady: () => void
  /** The connection ended before a byte of it was sent: it waits for another. No body may follow until `onReady`. */
  readonly onUnsent: () => void
  /** The connection takes more of the body. */
  readonly onBodyDrain: () => void
  /** The whole reply at once; `body` is valid during the call only. */
  readonly onReply: (status: number, headers: HeaderList, body: Uint8Array) => void
  /** A reply that comes in pieces. `length`: exact number of body bytes announced, also where none follow (HEAD, 304); -1: unknown. */
  readonly onReplyHead: (status: number, headers: HeaderList, length: number) => void
  /** A piece of the body, valid during the call only. False: wait for `resume` before sending more. */
  readonly onReplyBody: (chunk: Uint8Array) => boolean
  readonly onReplyEnd: () => void
  /** The call is over without a complete reply. Called at most once, instead of `onReplyEnd`. */
  readonly onFailure: (failure: UpstreamFailure) => void
}
