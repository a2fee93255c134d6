import type { GatewayError } from '../../errors.ts'
import { type CallReceiver, type IncomingCall, NOOP_RECEIVER } from '../call.ts'
import type { Timed } from '../deadlines.ts'
import { openWindows } from './flow-control.ts'
import { MORE, STREAM } from './frames.ts'

/** The connection of a call. */
export interface ServerCallCarrier {
  reply(call: ServerCall, metadata: string, body: string | Uint8Array): void
  fail(call: ServerCall, error: GatewayError): void
  start(call: ServerCall, metadata: string): void
  sendData(call: ServerCall, body: string | Uint8Array): boolean
  endData(call: ServerCall): void
  consumed(call: ServerCall, bytes: number): void
  expire(call: ServerCall): void
}

const NO_STREAM = 'the caller does not accept a stream'

/** A call on a connection from a caller. */
export class ServerCall implements IncomingCall, Timed {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  readonly timeoutMs: number
  body: Uint8Array
  readonly stream: boolean
  readonly more: boolean
  isSettled = false
  receiver: CallReceiver = NOOP_RECEIVER
  readonly id: number
  /** Whether the caller may send more bodies. */
  receiving: boolean
  sendWindow = 0
  receiveWindow = 0
  consumedBytes = 0
  isBlocked = false
  bodyBytes = 0
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  readonly #connection: ServerCallCarrier
  /** Whether a stream has started. */
  #started = false

  constructor(
    connection: ServerCallCarrier,
    id: number,
    flags: number,
    timeoutMs: number,
    service: string,
    endpoint: string,
    metadata: string,
    body: Uint8Array,
  ) {
    this.#connection = connection
    this.id = id
    this.timeoutMs = timeoutMs
    this.service = service
    this.endpoint = endpoint
    this.metadata = metadata
    this.body = body
    this.stream = (flags & STREAM) !== 0
    this.more = (flags & MORE) !== 0
    this.receiving = this.more
    openWindows(this)
  }

  reply(metadata: string, body: string | Uint8Array): void {
    if (this.isSettled) return
    if (this.#started) throw new Error('end a stream with endData or fail')
    this.#connection.reply(this, metadata, body)
  }

  fail(error: GatewayError): void {
    if (!this.isSettled) this.#connection.fail(this, error)
  }

  start(metadata: string): void {
    if (this.isSettled) return
    if (!this.stream) throw new Error(NO_STREAM)
    if (this.#started) throw new Error('the stream has already started')
    this.#connection.start(this, metadata)
    this.#started = true
  }

  sendData(body: string | Uint8Array): boolean {
    if (this.isSettled) return true
    if (!this.stream) throw new Error(NO_STREAM)
    const isSent = this.#connection.sendData(this, body)
    this.#started ||= isSent
    return isSent
  }

  endData(): void {
    if (this.isSettled) return
    if (!this.stream) throw new Error(NO_STREAM)
    this.#connection.endData(this)
  }

  consumed(bytes: number): void {
    if (!this.isSettled) this.#connection.consumed(this, bytes)
  }

  onDeadline(): void {
    this.#connection.expire(this)
  }
}
