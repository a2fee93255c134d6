import type { HeaderList } from '../http/headers.ts'
import type { Http1Connection } from './http1/connection.ts'

/**
 * Why a call failed.
 * - `connect`: no connection could be made; the request was not sent.
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

/** A failed call. A plain object without a stack: failures are expected. */
export interface UpstreamFailure {
  readonly kind: FailureKind
  readonly detail: string
  /** Caused by another call on the same connection; does not affect the backend's health again. */
  readonly collateral: boolean
}

/** Timeouts of a call, milliseconds. @default the timeouts of the node */
export interface CallTimeouts {
  /** From the end of the request to the head of the response. */
  readonly replyMs?: number | undefined
  /** Between two chunks of a body, either way. */
  readonly idleMs?: number | undefined
}

/** A request to a backend and the receiver of its response. */
export interface UpstreamCall {
  readonly method: string
  /** Request line and headers with the empty line; one byte per character. */
  readonly head: string
  /** Length of the request body, bytes; 0 if none; -1: chunked. */
  readonly bodyLength: number
  /** Safe to repeat (GET and HEAD), so it may be pipelined. */
  readonly idempotent: boolean
  /**
   * The caller enforces its own timeout: the connection does not limit the response time or pauses within the response.
   */
  readonly isPatient: boolean
  /** Overrides of the timeouts of the node. */
  readonly timeouts: CallTimeouts | undefined
  /** The connection used; undefined while waiting for one. Set by the connection. */
  connection: Http1Connection | undefined
  /** A retry: uses a new connection, since other keep-alive connections may have ended too. */
  isRepeat: boolean
  /** Head and short body as one string, for a retry if nothing was sent. Set by the connection. */
  whole: string
  /**
   * `clock.nowMs` by which the response must have started, even when queued; 0: the request is not sent yet. Set by the
   * connection.
   */
  deadlineMs: number

  /** The connection is open: the body may follow through `sendBody`. Only for calls with a body. */
  readonly onReady: () => void
  /** The connection ended before anything was sent; the call waits for another. No body may follow before `onReady`. */
  readonly onUnsent: () => void
  /** The connection accepts more of the body. */
  readonly onBodyDrain: () => void
  /** A complete response; `body` is valid during the call only. */
  readonly onReply: (status: number, headers: HeaderList, body: Uint8Array) => void
  /**
   * Head of a streamed response. `length`: announced body length, even where no body follows (HEAD, 304); -1: unknown.
   */
  readonly onReplyHead: (status: number, headers: HeaderList, length: number) => void
  /**
   * A chunk of the body, valid during the call only.
   *
   * @returns false to pause until `resume`.
   */
  readonly onReplyBody: (chunk: Uint8Array) => boolean
  readonly onReplyEnd: () => void
  /** The call failed. Called at most once, instead of `onReplyEnd`. */
  readonly onFailure: (failure: UpstreamFailure) => void
}
