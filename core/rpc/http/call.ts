// A single long file: one call, from its request to the last line of its response.
import { STATUS_CODES } from 'node:http'
import { flushAtTickEnd } from '../../../lib/async/flush-on-tick.ts'
import { ByteBuffer } from '../../../lib/io/byte-buffer.ts'
import { GatewayError } from '../../errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { UpstreamCall, UpstreamFailure } from '../../upstream/call.ts'
import type { Http1Connection } from '../../upstream/http1/connection.ts'
import type { Pool } from '../../upstream/pool/pool.ts'
import type { Carrier, OutgoingCall } from '../call.ts'
import { deadlines } from '../deadlines.ts'
import { parseFail, toBadResponse, toFailFields } from '../error-codec.ts'
import {
  FAIL_MAX_BYTES,
  frameCost,
  METADATA_MAX_BYTES,
  PAYLOAD_MAX_BYTES,
  WINDOW_BYTES,
} from '../ws/frames.ts'
import { toReplyFields } from './headers.ts'
import { hasMediaType, LINES, parseErrorLine } from './ndjson.ts'
import { type PlainRequest, toPlainRequest } from './request.ts'

const CARRIAGE_RETURN = 13
const NO_JSON = Buffer.alloc(0)

/** A call in flight over the HTTP transport: its request and the reader of its response. */
export class PlainCall implements UpstreamCall, Carrier {
  readonly method = 'POST'
  /** Idempotency is unknown here, and a request with a body is never pipelined. */
  readonly idempotent = false
  /** The deadline of the call applies instead: a stream without a deadline may be silent as long as its service is. */
  readonly isPatient = true
  readonly timeouts = undefined
  readonly bodyLength: number
  connection: Http1Connection | undefined = undefined
  deadlineMs = 0
  isRepeat = false
  headAndBody = ''
  readonly #call: OutgoingCall
  readonly #pool: Pool
  /** All calls in flight of the caller. */
  readonly #calls: Set<PlainCall>
  readonly #request: PlainRequest | GatewayError
  #settled = false
  /** The connection that is ready for the body. */
  #ready: Http1Connection | undefined = undefined
  #status = 0
  #metadata = ''
  /** Maximum number of response bytes to buffer. */
  #limit = 0
  #isStream = false
  /** Received bytes of the response; for a stream, the bytes not yet delivered. */
  readonly #received = new ByteBuffer()
  /** Whether the response is complete or failed, so that the connection may be reused. */
  #replied = false
  /** Whether {@link #received} contains the rest of the response, except for delivered bytes. */
  #complete = false
  /** Whether reading is paused until the program consumes bodies. */
  #paused = false
  #delivering = false
  /** The last line received: the error of the stream if nothing follows, otherwise a body. */
  #lastLine: Buffer | undefined = undefined
  #lastError: GatewayError | undefined = undefined

  constructor(call: OutgoingCall, host: string, pool: Pool, calls: Set<PlainCall>) {
    this.#call = call
    this.#pool = pool
    this.#calls = calls
    const request = toPlainRequest(call, host)
    this.#request = request
    this.bodyLength = request instanceof GatewayError ? 0 : request.body.length
  }

  /** Request line and headers, formatted when they are written, so that the remaining time is current. */
  get head(): string {
    const { head } = this.#request as PlainRequest
    const call = this.#call
    if (call.timeoutMs <= 0) return `${head}\r\n`
    return `${head}mx-timeout: ${Math.ceil(deadlines.left(call))}\r\n\r\n`
  }

  /** True once the request is on a connection. */
  get sent(): boolean {
    return this.connection !== undefined
  }

  start(): void {
    const call = this.#call
    if (this.#request instanceof GatewayError) {
      call.release()
      call.onFail(this.#request)
      return
    }
    call.carrier = this
    call.receiveWindow = WINDOW_BYTES
    call.answering = false
    if (call.timeoutMs > 0 && call.timedNext === undefined) deadlines.add(call, call.timeoutMs)
    this.#calls.add(this)
    this.#pool.dispatch(this)
  }

  /** Cancels the call and closes its connection. */
  disconnect(detail: string): void {
    if (this.#settled) return
    const kind = this.sent ? 'closed' : 'unsent'
    this.#abandon()
    this.#call.onLost(kind, detail)
  }

  // Called by the program

  sendData(): boolean {
    throw new Error('endData was already called')
  }

  endData(): void {}

  consumed(call: OutgoingCall, bytes: number): void {
    // Bounded by the bytes received, regardless of the values reported by the program.
    call.receiveWindow = Math.min(call.receiveWindow + frameCost(bytes), WINDOW_BYTES)
    if (this.#isStream && call.receiveWindow > 0) this.#deliver()
  }

  cancel(): void {
    this.#abandon()
  }

  expire(call: OutgoingCall): void {
    this.#abandon()
    call.onLost('timeout', `no response within ${call.timeoutMs} ms`)
  }

  // Events from the connection

  onReady(): void {
    // Deferred: a keep-alive connection may already have ended, which is known at the end of the tick.
    this.#ready = this.connection
    flushAtTickEnd(this)
  }

  /** Sends head and body. */
  flush(): void {
    const ready = this.#ready
    this.#ready = undefined
    if (!this.#settled) ready?.sendBody((this.#request as PlainRequest).body, true)
  }

  onUnsent(): void {}

  onBodyDrain(): void {}

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    // The connection is not needed from here on.
    this.#replied = true
    this.onReplyHead(status, headers, body.length)
    if (this.#settled) return
    if (this.#isStream || status !== 200) {
      this.onReplyBody(body)
      this.onReplyEnd()
      return
    }
    this.#finish()
    this.#call.onReply(this.#metadata, body)
  }

  onReplyHead(status: number, headers: HeaderList, length: number): void {
    if (this.#settled) return
    this.#status = status
    if (status >= 400) {
      this.#limit = FAIL_MAX_BYTES
      this.#metadata = headers.format()
      return
    }
    if (status !== 200 && status !== 204) {
      const type = headers.get('content-type')?.slice(0, 100) ?? 'none'
      return this.#reject(
        `status ${status}, content type ${type}; calls expect 200, plain HTTP backends require --handler=proxy`,
      )
    }
    this.#limit = PAYLOAD_MAX_BYTES
    this.#isStream = status === 200 && hasMediaType(headers.get('content-type') ?? '', LINES)
    // The content type of a stream describes its framing; its bodies are JSON.
    if (this.#isStream) headers.delete('content-type')
    this.#metadata = headers.format()
    if (this.#metadata.length > METADATA_MAX_BYTES) this.#reject('metadata is too long')
    else if (this.#isStream) this.#startStream()
    else if (status === 200 && length > this.#limit) this.#reject('body is too long')
  }

  onReplyBody(chunk: Uint8Array): boolean {
    if (this.#settled) return true
    this.#received.append(chunk)
    if (this.#isStream) {
      this.#deliver()
      return !this.#paused
    }
    if (this.#received.length > this.#limit) {
      if (this.#status === 200) this.#reject('body is too long')
      else this.#failWith(NO_JSON)
    }
    return true
  }

  onReplyEnd(): void {
    if (this.#settled) return
    this.#replied = true
    this.#complete = true
    if (this.#isStream) return this.#deliver()
    const { bytes } = this.#received
    if (this.#status >= 400) return this.#failWith(bytes)
    this.#finish()
    this.#call.onReply(this.#metadata, bytes)
  }

  onFailure({ kind, detail }: UpstreamFailure): void {
    if (this.#settled) return
    this.#replied = true
    if (this.#lastError !== undefined) return this.#fail(this.#lastError)
    switch (kind) {
      case 'malformed':
        return this.#reject(detail)
      case 'connect-timeout':
        this.#finish()
        return this.#call.onLost('connect', detail)
      default:
        this.#finish()
        return this.#call.onLost(kind, detail)
    }
  }

  #startStream(): void {
    const call = this.#call
    if (!call.stream) {
      const detail = `${call.endpoint} responds with a stream: request its path over HTTP, or use \`client.stream()\``
      return this.#fail(new GatewayError(call.service, 400, detail))
    }
    call.answering = true
    call.onStart(this.#metadata)
  }

  /** Delivers lines while the receive window is open. */
  #deliver(): void {
    // The program may consume bodies during delivery.
    if (this.#delivering || this.#settled) return
    this.#delivering = true
    const call = this.#call
    const received = this.#received
    // The end of a stream does not count towards the window.
    while (call.receiveWindow > 0 || received.length === 0) {
      const line = received.takeLine()
      if (line === undefined) {
        this.#delivering = false
        return this.#onLinesDelivered()
      }
      this.#take(line)
      if (this.#settled) return
    }
    this.#delivering = false
    this.#paused = true
  }

  /** Called when every complete line has been delivered. */
  #onLinesDelivered(): void {
    if (this.#complete) return this.#endStream()
    if (this.#received.length > PAYLOAD_MAX_BYTES) return this.#reject('line is too long')
    if (!this.#paused) return
    this.#paused = false
    this.connection!.resume()
  }

  #take(line: Buffer): void {
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    if (end === 0) return
    const before = this.#lastLine
    if (before !== undefined) {
      this.#lastLine = undefined
      this.#lastError = undefined
      this.#deliverBody(before)
      if (this.#settled) return
    }
    const body = line.subarray(0, end)
    if (end > PAYLOAD_MAX_BYTES) return this.#reject('line is too long')
    this.#lastError = parseErrorLine(body, this.#call.service)
    if (this.#lastError === undefined) this.#deliverBody(body)
    else this.#lastLine = Buffer.from(body)
  }

  #deliverBody(body: Buffer): void {
    const call = this.#call
    call.receiveWindow -= frameCost(body.length)
    call.onData(body)
  }

  #endStream(): void {
    if (this.#received.length > 0) return this.#reject('stream ends inside a line')
    if (this.#lastError !== undefined) return this.#fail(this.#lastError)
    this.#finish()
    this.#call.onEnd()
  }

  /** Fails the call with the error in the response body. */
  #failWith(json: Buffer): void {
    const { service } = this.#call
    const error = parseFail(json.toString(), service)
    if (error?.headers !== undefined) return this.#fail(error)
    const fields = toReplyFields(this.#metadata)
    const options = {
      repeatable: error?.repeatable ?? true,
      ...(fields !== undefined && fields.size > 0 && { headers: toFailFields(fields.flat) }),
    }
    if (error !== undefined)
      return this.#fail(new GatewayError(error.id, error.code, error.message, options))
    const detail = STATUS_CODES[this.#status] ?? ''
    this.#fail(new GatewayError(service, this.#status, detail, options), true)
  }

  /** Fails the call because of a malformed response. */
  #reject(cause: string): void {
    this.#fail(toBadResponse(this.#call.service, cause), true)
  }

  #fail(error: GatewayError, isUntyped = false): void {
    this.#abandon()
    this.#call.onFail(error, isUntyped)
  }

  /** Ends the call, and the request if it is in flight. */
  #abandon(): void {
    this.#finish()
    if (!this.#replied) this.#pool.cancel(this)
  }

  #finish(): void {
    this.#settled = true
    this.#calls.delete(this)
    this.#call.release()
  }
}
