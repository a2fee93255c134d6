import type { HeaderList } from '../http/headers.ts'
import type { Http1Connection } from './http1/connection.ts'

/**
 * Reason why a call failed.
 * - `connect`: no connection could be opened; the request was not sent.
 * - `connect-timeout`: connecting timed out.
 * - `full`: all connections are busy and the queue is full; not sent.
 * - `closed`: the backend closed the connection before the end of its response.
 * - `timeout`: the response timed out.
 * - `malformed`: the response is not HTTP/1.1 (RFC 9112).
 */
export type FailureKind =
  | 'connect'
  | 'connect-timeout'
  | 'full'
  | 'closed'
  | 'timeout'
  | 'malformed'

/** A failed call. A plain object without a stack trace, since failures are expected. */
export interface UpstreamFailure {
  readonly kind: FailureKind
  readonly detail: string
  /**
   * Whether another call on the same connection caused the failure, so that it does not affect the backend's health
   * again.
   */
  readonly collateral: boolean
}

/** Timeouts of a call in milliseconds. @default the timeouts of the node */
export interface CallTimeouts {
  /** From the end of the request to the head of the response. */
  readonly replyMs?: number | undefined
  /** Between two chunks of a body in either direction. */
  readonly idleMs?: number | undefined
}

/** A request to a backend and the receiver of its response. */
export interface UpstreamCall {
  readonly method: string
  /** Request line and headers with the empty line, one byte per character. */
  readonly head: string
  /** Length of the request body in bytes; 0 if none; -1 if chunked. */
  readonly bodyLength: number
  /** Whether the request is safe to repeat (GET and HEAD), so that it may be pipelined. */
  readonly idempotent: boolean
  /**
   * Whether the caller enforces its own timeout, so that the connection limits neither the response time nor pauses in
   * the response.
   */
  readonly isPatient: boolean
  /** Overrides the timeouts of the node. */
  readonly timeouts: CallTimeouts | undefined
  /** The connection used; undefined while waiting for one. Set by the connection. */
  connection: Http1Connection | undefined
  /** Whether this is a retry. It uses a new connection, since other keep-alive connections may have ended as well. */
  isRepeat: boolean
  /** Head and short body as one string, for a retry if nothing was sent. Set by the connection. */
  headAndBody: string
  /**
   * `clock.nowMs` by which the response must have started, even when queued; 0 if the request has not been sent. Set by
   * the connection.
   */
  deadlineMs: number

  /** Called when the connection is open and the body may follow through `sendBody`. Only for calls with a body. */
  readonly onReady: () => void
  /**
   * Called if the connection ended before anything was sent; the call waits for another one. No body may follow before
   * `onReady`.
   */
  readonly onUnsent: () => void
  /** Called when the connection accepts more of the body. */
  readonly onBodyDrain: () => void
  /** Called with a complete response; `body` is only valid during the call. */
  readonly onReply: (status: number, headers: HeaderList, body: Uint8Array) => void
  /**
   * Called with the head of a streamed response. `length` is the announced body length, even if no body follows (HEAD,
   * 304); -1 if unknown.
   */
  readonly onReplyHead: (status: number, headers: HeaderList, length: number) => void
  /**
   * Called with a chunk of the body, only valid during the call.
   *
   * @returns false to pause until `resume`.
   */
  readonly onReplyBody: (chunk: Uint8Array) => boolean
  readonly onReplyEnd: () => void
  /** Called at most once, instead of `onReplyEnd`, if the call failed. */
  readonly onFailure: (failure: UpstreamFailure) => void
}
