import { ByteBuffer } from '../../../lib/io/byte-buffer.ts'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { mayWait, rejectBody, rejectResponse } from '../../limits/memory-budget.ts'
import type { Peer } from '../../request/incoming-request.ts'
import {
  type CallReceiver,
  type CancelReason,
  type Dispatch,
  type IncomingCall,
  NOOP_RECEIVER,
} from '../call.ts'
import { deadlines, type Timed } from '../deadlines.ts'
import { formatFail, formatFailFields, isErrorCode } from '../error-codec.ts'
import { PAYLOAD_MAX_BYTES } from '../ws/frames.ts'
import { readMetadata, toReplyFields } from './headers.ts'
import { hasMediaType, LINES, toLine } from './ndjson.ts'

const MALFORMED_METADATA = 'response metadata is malformed or too long'
const NOTHING = Buffer.alloc(0)

/** An incoming call over the HTTP transport: reads the request and writes the response. */
export class PlainServedCall implements IncomingCall, Peer, Timed {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  timeoutMs: number
  body: Uint8Array = NOTHING
  readonly stream = true
  readonly more = false
  isSettled = false
  receiver: CallReceiver = NOOP_RECEIVER
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  readonly #x: Exchange
  readonly #dispatch: Dispatch
  /** Value of `Mx-Timeout`. */
  readonly #limitMs: number
  readonly #received = new ByteBuffer()
  /** Whether the head of a stream has been sent. */
  #started = false
  /** Whether the caller is slow, so that the call must wait for `onDrain`. */
  #blocked = false
  /** Whether `sendData` returned false and the call waits for `onCredit`. */
  #awaitsCredit = false

  constructor(
    x: Exchange,
    dispatch: Dispatch,
    service: string,
    endpoint: string,
    timeoutMs: number,
  ) {
    this.#x = x
    this.#dispatch = dispatch
    this.service = service
    this.endpoint = endpoint
    this.timeoutMs = timeoutMs
    this.#limitMs = timeoutMs
    this.metadata = readMetadata(x.headers)
  }

  /** Reads the body, then dispatches the call. */
  read(): void {
    if (this.#limitMs > 0) deadlines.add(this, this.#limitMs)
    this.#x.pipeTo(this)
    if (this.#x.bodyLength === 0) this.#serve(NOTHING)
  }

  // Events from the caller

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.isSettled) return
    const received = this.#received
    if (received.length + chunk.length > PAYLOAD_MAX_BYTES) {
      const detail = `request must be at most ${PAYLOAD_MAX_BYTES} bytes`
      return this.fail(new GatewayError(this.service, 413, detail))
    }
    if (!this.#x.reserveMemory(chunk.length)) return this.fail(rejectBody(this.service))
    if (last && received.length === 0) return this.#serve(chunk)
    received.append(chunk)
    if (last) this.#serve(received.bytes)
  }

  onDrain(): void {
    this.#blocked = false
    if (this.isSettled || !this.#awaitsCredit) return
    this.#awaitsCredit = false
    this.receiver.onCredit()
  }

  onAbort(): void {
    this.#cancel('cancel')
  }

  onDeadline(): void {
    if (this.isSettled) return
    this.#sendError(new GatewayError(this.service, 408, `no response within ${this.#limitMs} ms`))
    this.#cancel('timeout')
  }

  // Called by the program

  reply(metadata: string, body: string | Uint8Array): void {
    if (this.isSettled) return
    if (this.#started) throw new Error('end a stream with endData or fail')
    if (!mayWait(body)) return this.fail(rejectResponse(this.service))
    const headers = toReplyFields(metadata)
    if (headers === undefined) {
      return this.fail(new GatewayError(this.service, 500, MALFORMED_METADATA))
    }
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    if (length > PAYLOAD_MAX_BYTES) {
      const detail = `response must be at most ${PAYLOAD_MAX_BYTES} bytes`
      return this.fail(new GatewayError(this.service, 500, detail))
    }
    this.#finish()
    if (length === 0) return this.#x.send(204, headers, NOTHING)
    if (!headers.has('content-type')) headers.append('content-type', 'application/json')
    this.#x.send(200, headers, body)
  }

  fail(error: GatewayError): void {
    if (this.isSettled) return
    this.#finish()
    this.#sendError(error)
  }

  start(metadata: string): void {
    if (this.isSettled) return
    if (this.#started) throw new Error('the stream has already started')
    const headers = toReplyFields(metadata)
    if (headers === undefined) throw new TypeError(MALFORMED_METADATA)
    const type = headers.get('content-type')
    if (type !== undefined && !hasMediaType(type, 'application/json')) {
      throw new GatewayError(
        this.service,
        400,
        `streams of ${type} require the WebSocket transport`,
      )
    }
    headers.delete('content-type')
    this.#begin(headers)
  }

  sendData(body: string | Uint8Array): boolean {
    if (this.isSettled) return true
    if (this.#blocked) {
      this.#awaitsCredit = true
      return false
    }
    const line = toLine(body)
    if (!this.#started) this.#begin(new HeaderList())
    this.#blocked = !this.#x.write(line)
    return true
  }

  endData(): void {
    if (this.isSettled) return
    if (!this.#started) this.#begin(new HeaderList())
    this.#finish()
    this.#x.end()
  }

  /** No-op, because the request is a single body. */
  consumed(): void {}

  #serve(body: Uint8Array): void {
    if (this.#limitMs > 0) this.timeoutMs = Math.ceil(deadlines.left(this))
    this.body = body
    try {
      this.#dispatch(this)
    } catch (thrown) {
      this.fail(GatewayError.from(thrown, this.service))
    }
    this.body = NOTHING
    this.#received.clear()
  }

  #begin(headers: HeaderList): void {
    this.#started = true
    headers.append('content-type', LINES)
    this.#x.start(200, headers, -1)
  }

  /** Writes an error, as the last line of a stream or as the response. */
  #sendError(error: GatewayError): void {
    const { repeatable } = this.receiver
    if (!this.#started) return sendFail(this.#x, error, repeatable)
    this.#x.write(Buffer.from(`{"error":${formatFail(error, repeatable)}}\n`))
    this.#x.end()
  }

  #cancel(reason: CancelReason): void {
    if (this.isSettled) return
    this.#finish()
    this.receiver.onCancel(reason)
  }

  #finish(): void {
    this.isSettled = true
    this.#received.clear()
    deadlines.remove(this)
  }
}

/** Sends an error as JSON, and its headers as response headers. */
export function sendFail(x: Exchange, error: GatewayError, repeatable = true): void {
  const headers = toReplyFields(formatFailFields(error.headers ?? []) ?? '') ?? new HeaderList()
  headers.append('content-type', 'application/json')
  x.send(isErrorCode(error.code) ? error.code : 500, headers, formatFail(error, repeatable))
}
