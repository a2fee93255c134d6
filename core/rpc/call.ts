import type { GatewayError } from '../errors.ts'
import { deadlines, type Timed } from './deadlines.ts'

/**
 * Reason why a call has no response.
 * - `connect`: no connection could be opened; not sent.
 * - `foreign`: the node does not speak the protocol; not sent.
 * - `full`: too many calls are waiting; not sent.
 * - `unsent`: known to be unprocessed, so a retry is safe: the node accepts no more calls, or the connection ended
 *   before the call was written.
 * - `closed`: the connection ended; the call may have been served.
 * - `stopped`: the node shut down without waiting for the call; the call may have been served.
 * - `timeout`: the deadline expired.
 */
export type TransportFailure =
  | 'connect'
  | 'foreign'
  | 'full'
  | 'unsent'
  | 'closed'
  | 'stopped'
  | 'timeout'

/** Transport of a call. The methods correspond to the methods of {@link OutgoingCall}. */
export interface Carrier {
  sendData(call: OutgoingCall, body: string | Uint8Array): boolean
  endData(call: OutgoingCall): void
  consumed(call: OutgoingCall, bytes: number): void
  cancel(call: OutgoingCall): void
  /** Called when the deadline of the call has expired. */
  expire(call: OutgoingCall): void
}

/**
 * An outgoing call and the receiver of its response (docs/protocol.md §1).
 *
 * Callers extend it, so that a call is a single object, set its first fields and pass it to a channel. The call ends
 * with exactly one of `onReply`, `onEnd`, `onFail` and `onLost`, or with {@link cancel}. Afterwards no callback runs,
 * and the call may be passed to a channel again. Callbacks must not throw. Bodies passed to callbacks are only valid
 * during the callback.
 *
 * Neither this class nor its extensible subclasses use `#` fields
 * (docs/decisions/2026-11-22-fields-are-assigned.md).
 */
export abstract class OutgoingCall implements Timed {
  /** Full service name. */
  service = ''
  /** `<Handler>.<Method>` */
  endpoint = ''
  /** Metadata block as written by `formatMetadata`, one byte per character. */
  metadata = ''
  /** Milliseconds for the whole call; 0 for no deadline. */
  timeoutMs = 0
  /**
   * The request, or the first body of a stream. Its memory must not change before the call ends, because the call may
   * be sent twice.
   */
  body: string | Uint8Array = ''
  /** Whether the body is ASCII text, one byte per character. */
  ascii = false
  /** `performance.now()` at the time of sending, if known to the caller; 0 to read the clock. */
  sentMs = 0
  /** Whether the caller accepts a stream. */
  stream = false
  /** Whether more bodies follow through {@link sendData} and {@link endData}. */
  more = false

  // Managed by the transport.
  carrier: Carrier | undefined = undefined
  /** Stream id; 0 if not sent. */
  id = 0
  /** Bytes that may be sent before the next CREDIT. */
  sendWindow = 0
  /** Bytes that the callee may send before it receives the next CREDIT. */
  receiveWindow = 0
  /** Bytes consumed since the last CREDIT. */
  consumedBytes = 0
  /** Whether {@link sendData} returned false and the call waits for `onCredit`. */
  isBlocked = false
  /** Whether bodies were sent, so that the call cannot be retried. */
  started = false
  /** Whether the last body has been sent or there is none. Every attempt then sends END after the call. */
  halfClosed = false
  /** Whether a streamed response has started. */
  answering = false
  /** Whether the call was returned by a connection that ended, and was sent again. */
  resent = false
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined

  /** Called with the response of a unary endpoint. */
  abstract onReply(metadata: string, body: Uint8Array): void
  /**
   * Called when the service returned an error.
   *
   * @param isUntyped whether the error is not a typed error of the protocol: the response was malformed, or came from
   * an intermediary.
   */
  abstract onFail(error: GatewayError, isUntyped?: boolean): void
  abstract onLost(kind: TransportFailure, detail: string): void
  /** Called at the start of a stream, before `onData`, or not at all. */
  onStart(_metadata: string): void {}
  /** Called with a body of the stream. Call {@link consumed} to receive more. */
  onData(_body: Uint8Array): void {}
  /** Called when the stream is complete. */
  onEnd(): void {}
  /** Called when {@link sendData} accepts bodies again. */
  onCredit(): void {}

  /**
   * Sends another body. Its memory may be reused after the call. Bodies sent after the end of the call are discarded.
   *
   * @returns false if the body was not sent because the service or the connection is slow or not ready. Send it again
   * after `onCredit`.
   * @throws {RangeError} if the body exceeds 16 MiB.
   */
  sendData(body: string | Uint8Array): boolean {
    return this.carrier === undefined || this.carrier.sendData(this, body)
  }

  /** Half-closes the call: no more bodies follow. */
  endData(): void {
    this.carrier?.endData(this)
  }

  /** Returns flow-control credit for a received body of this size. Must be called once per body. */
  consumed(bytes: number): void {
    this.carrier?.consumed(this, bytes)
  }

  /** Cancels the call and notifies the service. */
  cancel(): void {
    this.carrier?.cancel(this)
  }

  onDeadline(): void {
    this.carrier?.expire(this)
  }

  /** Detaches the call from its transport. */
  release(): void {
    this.carrier = undefined
    deadlines.remove(this)
  }
}

/**
 * Reason why the callee must stop working on a call.
 * - `cancel`: the caller cancelled it.
 * - `timeout`: its deadline expired.
 * - `closed`: the connection to the caller ended.
 */
export type CancelReason = 'cancel' | 'timeout' | 'closed'

/** Callbacks of the program that serves a call. They must not throw. */
export interface CallReceiver {
  /** Whether a call that fails with 500 or 408 may be retried. Sent to the caller. @default true */
  readonly repeatable?: boolean
  /**
   * Called with another body from the caller, only valid during the callback. Call {@link IncomingCall.consumed} to
   * receive more.
   */
  readonly onData: (body: Uint8Array) => void
  /** Called when the caller has sent its last body. Only for calls with `more`. */
  readonly onEnd: () => void
  /** Called when the call ended before its response. At most once, and never after a response. */
  readonly onCancel: (reason: CancelReason) => void
  /** Called when {@link IncomingCall.sendData} accepts bodies again. */
  readonly onCredit: () => void
}

export const NOOP_RECEIVER: CallReceiver = {
  onData: () => {},
  onEnd: () => {},
  onCancel: () => {},
  onCredit: () => {},
}

/** An incoming call (docs/protocol.md §1). After it has ended, the methods do nothing. */
export interface IncomingCall {
  readonly service: string
  readonly endpoint: string
  /** Unvalidated metadata block, see `isMetadata`. */
  readonly metadata: string
  /** Milliseconds left on arrival; 0 for no deadline. */
  readonly timeoutMs: number
  /**
   * The request, or the first body of a stream (empty with `more` if none has been received). Valid until the
   * dispatcher returns.
   */
  readonly body: Uint8Array
  /** Whether the caller accepts a stream. */
  readonly stream: boolean
  /** Whether more bodies follow. */
  readonly more: boolean
  /** Whether the response was sent or is no longer expected. */
  readonly isSettled: boolean
  /** Set by the dispatcher before it returns. */
  receiver: CallReceiver
  /** Sends a unary response. A response beyond the frame limit becomes a 500 error. */
  reply(metadata: string, body: string | Uint8Array): void
  /** Ends the call with an error, even within a stream. */
  fail(error: GatewayError): void
  /** Starts a stream with metadata. Optional, and only allowed before the first body. */
  start(metadata: string): void
  /**
   * Sends a body of a stream. Its memory may be reused after the call. Bodies sent after the end of the call are
   * discarded.
   *
   * @returns false if the body was not sent because the caller or the connection is slow. Send it again after
   * `onCredit`.
   * @throws {RangeError} if the body exceeds 16 MiB.
   * @throws {Error} if the caller does not accept a stream.
   */
  sendData(body: string | Uint8Array): boolean
  endData(): void
  /** Returns flow-control credit for a received body of this size. Must be called once per body. */
  consumed(bytes: number): void
}

/** Serves a call, synchronously or later. A thrown error becomes the response, see `GatewayError.from`. */
export type Dispatch = (call: IncomingCall) => void
