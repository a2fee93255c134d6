// One file, though long: one call, from its request to the last line of its answer.
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
import { parseFail, toBadAnswer, toFailFields } from '../error-codec.ts'
import {
  FAIL_MAX_BYTES,
  frameCost,
  METADATA_MAX_BYTES,
  PAYLOAD_MAX_BYTES,
  WINDOW_BYTES,
} from '../ws/frames.ts'
import { toReplyFields } from './headers.ts'
import { isOfType, LINES, parseErrorLine } from './ndjson.ts'
import { type PlainRequest, toPlainRequest } from './request.ts'

const CARRIAGE_RETURN = 13
const NO_JSON = Buffer.alloc(0)

/** One call under way in the plain form: its request, and the reader of the reply. */
export class PlainCall implements UpstreamCall, Carrier {
  readonly method = 'POST'
  /** Not known here; and a request with a body is never written behind others. */
  readonly idempotent = false
  /** Its deadline is that of the call: a stream without one is silent for as long as its service is. */
  readonly isPatient = true
  readonly bodyLength: number
  connection: Http1Connection | undefined = undefined
  deadlineMs = 0
  isRepeat = false
  whole = ''
  readonly #call: OutgoingCall
  readonly #pool: Pool
  /** Those of its caller that are under way. */
  readonly #calls: Set<PlainCall>
  readonly #request: PlainRequest | GatewayError
  #over = false
  /** The connection that waits for the body. */
  #ready: Http1Connection | undefined = undefined
  #status = 0
  #metadata = ''
  /** Most bytes of the reply that are collected. */
  #limit = 0
  #isStream = false
  /** What has come of the reply, of a stream what was not delivered yet. */
  readonly #received = new ByteBuffer()
  /** The reply has come, or cannot: the connection may serve others. */
  #replied = false
  /** All of the reply is in {@link #received}, but for what was delivered. */
  #complete = false
  /** The reply waits on its connection until the program is done with some of it. */
  #paused = false
  #delivering = false
  /** A line that is the error of the stream if it is the last one, and a body of it if not. */
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

  /** Request line and fields: asked for when it is written, which may be a while after the call was made. */
  get head(): string {
    const { head } = this.#request as PlainRequest
    const call = this.#call
    if (call.timeoutMs <= 0) return `${head}\r\n`
    return `${head}mx-timeout: ${Math.ceil(deadlines.left(call))}\r\n\r\n`
  }

  /** Whether a connection has it. */
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

  /** Gives the call up; the connection it is on, if any, is closed. */
  lose(detail: string): void {
    if (this.#over) return
    const kind = this.sent ? 'closed' : 'unsent'
    this.#giveUp()
    this.#call.onLost(kind, detail)
  }

  // From the program

  sendData(): boolean {
    throw new Error('no body may follow the last one')
  }

  endData(): void {}

  consumed(call: OutgoingCall, bytes: number): void {
    // Never more than was received, whatever the program says.
    call.receiveWindow = Math.min(call.receiveWindow + frameCost(bytes), WINDOW_BYTES)
    if (this.#isStream && call.receiveWindow > 0) this.#deliver()
  }

  cancel(): void {
    this.#giveUp()
  }

  expire(call: OutgoingCall): void {
    this.#giveUp()
    call.onLost('timeout', `no answer within ${call.timeoutMs} ms`)
  }

  // From the connection

  onReady(): void {
    // Not at once: a kept connection may have ended already, which is then known by the end of the turn.
    this.#ready = this.connection
    flushAtTickEnd(this)
  }

  /** Sends the body, and with it the fields. */
  flush(): void {
    const ready = this.#ready
    this.#ready = undefined
    if (!this.#over) ready?.sendBody((this.#request as PlainRequest).body, true)
  }

  onUnsent(): void {}

  onBodyDrain(): void {}

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    // What is left to do needs no connection.
    this.#replied = true
    this.onReplyHead(status, headers, body.length)
    if (this.#over) return
    if (this.#isStream || status !== 200) {
      this.onReplyBody(body)
      this.onReplyEnd()
      return
    }
    this.#finish()
    this.#call.onReply(this.#metadata, body)
  }

  onReplyHead(status: number, headers: HeaderList, length: number): void {
    if (this.#over) return
    this.#status = status
    if (status >= 400) {
      this.#limit = FAIL_MAX_BYTES
      this.#metadata = headers.format()
      return
    }
    if (status !== 200 && status !== 204) {
      return this.#refuse(`status ${status}, where 200, 204 or an error is expected`)
    }
    this.#limit = PAYLOAD_MAX_BYTES
    this.#isStream = status === 200 && isOfType(headers.get('content-type') ?? '', LINES)
    // Of a stream it says how bodies are cut, not what they are: JSON.
    if (this.#isStream) headers.delete('content-type')
    this.#metadata = headers.format()
    if (this.#metadata.length > METADATA_MAX_BYTES) this.#refuse('metadata is too long')
    else if (this.#isStream) this.#startStream()
    else if (status === 200 && length > this.#limit) this.#refuse('body is too long')
  }

  onReplyBody(chunk: Uint8Array): boolean {
    if (this.#over) return true
    this.#received.append(chunk)
    if (this.#isStream) {
      this.#deliver()
      return !this.#paused
    }
    if (this.#received.length > this.#limit) {
      if (this.#status === 200) this.#refuse('body is too long')
      else this.#failWith(NO_JSON)
    }
    return true
  }

  onReplyEnd(): void {
    if (this.#over) return
    this.#replied = true
    this.#complete = true
    if (this.#isStream) return this.#deliver()
    const { bytes } = this.#received
    if (this.#status >= 400) return this.#failWith(bytes)
    this.#finish()
    this.#call.onReply(this.#metadata, bytes)
  }

  onFailure({ kind, detail }: UpstreamFailure): void {
    if (this.#over) return
    this.#replied = true
    if (this.#lastError !== undefined) return this.#fail(this.#lastError)
    switch (kind) {
      case 'malformed':
        return this.#refuse(detail)
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
      const detail = `${call.endpoint} answers with a stream: request its path over HTTP, or call stream() of a client`
      return this.#fail(new GatewayError(call.service, 400, detail))
    }
    call.answering = true
    call.onStart(this.#metadata)
  }

  /** Hands lines to the program, as many as it takes. */
  #deliver(): void {
    // It may ask for more while it is given one.
    if (this.#delivering || this.#over) return
    this.#delivering = true
    const call = this.#call
    const received = this.#received
    // The end of a stream takes nothing from the window.
    while (call.receiveWindow > 0 || received.length === 0) {
      const line = received.takeLine()
      if (line === undefined) {
        this.#delivering = false
        return this.#wait()
      }
      this.#take(line)
      if (this.#over) return
    }
    this.#delivering = false
    this.#paused = true
  }

  /** All whole lines are delivered. */
  #wait(): void {
    if (this.#complete) return this.#endStream()
    if (this.#received.length > PAYLOAD_MAX_BYTES) return this.#refuse('line is too long')
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
      this.#give(before)
      if (this.#over) return
    }
    const body = line.subarray(0, end)
    if (end > PAYLOAD_MAX_BYTES) return this.#refuse('line is too long')
    this.#lastError = parseErrorLine(body, this.#call.service)
    if (this.#lastError === undefined) this.#give(body)
    else this.#lastLine = Buffer.from(body)
  }

  #give(body: Buffer): void {
    const call = this.#call
    call.receiveWindow -= frameCost(body.length)
    call.onData(body)
  }

  #endStream(): void {
    if (this.#received.length > 0) return this.#refuse('stream ends inside a line')
    if (this.#lastError !== undefined) return this.#fail(this.#lastError)
    this.#finish()
    this.#call.onEnd()
  }

  /** The reply is an error, with this body. */
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

  /** Answers for a service that breaks the rules. */
  #refuse(cause: string): void {
    this.#fail(toBadAnswer(this.#call.service, cause), true)
  }

  #fail(error: GatewayError, isForeign = false): void {
    this.#giveUp()
    this.#call.onFail(error, isForeign)
  }

  /** Ends the request, too, if it is still under way. */
  #giveUp(): void {
    this.#finish()
    if (!this.#replied) this.#pool.cancel(this)
  }

  #finish(): void {
    this.#over = true
    this.#calls.delete(this)
    this.#call.release()
  }
}
