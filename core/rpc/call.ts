import type { GatewayError } from '../errors.ts'
import { deadlines, type Timed } from './deadlines.ts'

/**
 * Why a call has no answer.
 * - `connect`: no connection came about; not sent.
 * - `foreign`: the node is there, and does not speak the protocol; not sent.
 * - `full`: too many calls wait already; not sent.
 * - `unsent`: certainly not served, so it may go elsewhere whatever it is: the node takes no more calls, or the connection ended before it was written.
 * - `closed`: the connection ended; whether it was served is unknown.
 * - `stopped`: the node takes no more calls, and did not wait for the end of this one; whether it was served is unknown.
 * - `timeout`: its time is over.
 */
export type TransportFailure =
  | 'connect'
  | 'foreign'
  | 'full'
  | 'unsent'
  | 'closed'
  | 'stopped'
  | 'timeout'

/** Who carries a call to its service: see the methods of {@link OutgoingCall}. */
export interface Carrier {
  sendData(call: OutgoingCall, body: string | Uint8Array): boolean
  endData(call: OutgoingCall): void
  consumed(call: OutgoingCall, bytes: number): void
  cancel(call: OutgoingCall): void
  /** The call's deadline is over. */
  expire(call: OutgoingCall): void
}

/**
 * A call on its way to a service, and the receiver of the answer (docs/protocol.md §1).
 *
 * The caller extends it, so that a call is one object, fills in the first fields and hands it
 * to a channel. It is over after `onReply`, `onEnd`, `onFail` or `onLost`, one of them, once, or
 * after {@link cancel}; then nothing more is called, and it may be handed to a channel again.
 * Callbacks must not throw. Bodies given to them are valid during the call only.
 *
 * Neither it nor who extends it, to be extended, has `#` names (docs/decisions/2026-11-22-fields-are-assigned.md).
 */
export abstract class OutgoingCall implements Timed {
  /** Full service name. */
  service = ''
  /** `<Handler>.<Method>` */
  endpoint = ''
  /** Metadata block, as of `formatMetadata`; one character a byte. */
  metadata = ''
  /** Milliseconds for the whole call; 0: no deadline. */
  timeoutMs = 0
  /** The request, or the first of the bodies. Its memory must not change until the call is over: the call may be sent twice. */
  body: string | Uint8Array = ''
  /** The body is text of ASCII, one byte a character. */
  ascii = false
  /** `performance.now()` when it is sent, where the caller knows it; 0: to be asked for. */
  sentMs = 0
  /** The caller takes a stream. */
  stream = false
  /** More bodies follow by {@link sendData}, then {@link endData}. */
  more = false

  // Of whoever carries it; not for others.
  carrier: Carrier | undefined = undefined
  /** Stream id; 0: not sent. */
  id = 0
  /** What may be sent until CREDIT comes. */
  sendWindow = 0
  /** What the callee may send until it gets CREDIT. */
  receiveWindow = 0
  /** What was consumed since the last CREDIT. */
  consumedBytes = 0
  /** {@link sendData} was refused: `onCredit` is awaited. */
  held = false
  /** Bodies were sent: it cannot be sent again. */
  started = false
  /** The last body has been sent, or there is none: END goes out behind the call, however often that is sent. */
  halfClosed = false
  /** The answer is a stream, and has begun. */
  answering = false
  /** A connection that ended has given it back before. */
  resent = false
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined

  /** The whole reply of a unary endpoint. */
  abstract onReply(metadata: string, body: Uint8Array): void
  /**
   * The service answered with an error.
   *
   * @param isForeign it is none of the protocol: of an answer that is malformed, or of something between.
   */
  abstract onFail(error: GatewayError, isForeign?: boolean): void
  abstract onLost(kind: TransportFailure, detail: string): void
  /** A stream begins; comes before `onData`, or not at all. */
  onStart(_metadata: string): void {}
  /** A body of the stream; {@link consumed} asks for more. */
  onData(_body: Uint8Array): void {}
  /** The stream is complete. */
  onEnd(): void {}
  /** {@link sendData} takes bodies again. */
  onCredit(): void {}

  /**
   * Sends another body. Its memory may be reused after the call.
   *
   * False: it was not taken, since the service or the connection is slow or not there yet; send it again after `onCredit`.
   * Once the call is over bodies are taken, and go nowhere.
   *
   * @throws {RangeError} when the body is longer than 16 MiB.
   */
  sendData(body: string | Uint8Array): boolean {
    return this.carrier === undefined || this.carrier.sendData(this, body)
  }

  /** The last body has been sent. */
  endData(): void {
    this.carrier?.endData(this)
  }

  /** The program is done with a body of that many bytes: the service may send more. Once for each body. */
  consumed(bytes: number): void {
    this.carrier?.consumed(this, bytes)
  }

  /** Gives the call up, and tells the service. */
  cancel(): void {
    this.carrier?.cancel(this)
  }

  onDeadline(): void {
    this.carrier?.expire(this)
  }

  /** Takes the call off whoever carried it. */
  release(): void {
    this.carrier = undefined
    deadlines.remove(this)
  }
}

/**
 * Why the callee is to stop working on a call.
 * - `cancel`: the caller gave it up.
 * - `timeout`: its time is over.
 * - `closed`: the connection to the caller ended.
 */
export type CancelReason = 'cancel' | 'timeout' | 'closed'

/** What the program that serves a call is told of it. None of the functions may throw. */
export interface CallReceiver {
  /** Whether a call that fails with 500 or 408 may be repeated; the caller is told. @default true */
  readonly repeatable?: boolean
  /** Another body from the caller, valid during the call only; {@link IncomingCall.consumed} asks for more. */
  readonly onData: (body: Uint8Array) => void
  /** The caller has sent its last body. Not called for a call without `more`. */
  readonly onEnd: () => void
  /** The call is over, nobody waits for an answer. Called at most once, and not after an answer. */
  readonly onCancel: (reason: CancelReason) => void
  /** {@link IncomingCall.sendData} takes bodies again. */
  readonly onCredit: () => void
}

/** The receiver of a call whose dispatcher wants to be told nothing. */
export const NOOP_RECEIVER: CallReceiver = {
  onData: () => {},
  onEnd: () => {},
  onCancel: () => {},
  onCredit: () => {},
}

/** A call to serve (docs/protocol.md §1). Once it is over its methods do nothing. */
export interface IncomingCall {
  readonly service: string
  readonly endpoint: string
  /** Metadata block, unchecked: see `isMetadata`. */
  readonly metadata: string
  /** Milliseconds left when it came; 0: no deadline. */
  readonly timeoutMs: number
  /** The request, or the first of the bodies (where it is empty and `more` is set: none yet). Valid until the dispatcher returns. */
  readonly body: Uint8Array
  /** The caller takes a stream. */
  readonly stream: boolean
  /** More bodies follow. */
  readonly more: boolean
  /** It was answered, or nobody waits for an answer. */
  readonly over: boolean
  /** Set by the dispatcher before it returns. */
  receiver: CallReceiver
  /** Answers with a whole reply; one too long for the protocol becomes an error 500. */
  reply(metadata: string, body: string | Uint8Array): void
  /** Answers with an error, also in the midst of a stream. */
  fail(error: GatewayError): void
  /** Begins a stream with metadata. Optional, and only before the first body. */
  start(metadata: string): void
  /**
   * Sends a body of a stream. Its memory may be reused after the call.
   *
   * False: it was not taken, since the caller or the connection is slow; send it again after `onCredit`.
   * Once the call is over bodies are taken, and go nowhere.
   *
   * @throws {RangeError} when the body is longer than 16 MiB.
   * @throws {Error} when the caller takes no stream.
   */
  sendData(body: string | Uint8Array): boolean
  /** Ends the stream. */
  endData(): void
  /** The program is done with a body of that many bytes: the caller may send more. Once for each body. */
  consumed(bytes: number): void
}

/** Serves a call, now or later. What it throws is the answer: see `GatewayError.from`. */
export type Dispatch = (call: IncomingCall) => void
