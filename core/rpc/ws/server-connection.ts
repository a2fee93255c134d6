import { GatewayError } from '../../errors.ts'
import {
  callMemory,
  mayWait,
  rejectBody,
  rejectResponse,
  replyMemory,
} from '../../limits/memory-budget.ts'
import { TRY_AGAIN_LATER } from '../../listener/websocket/close-codes.ts'
import type { Dispatch } from '../call.ts'
import { deadlines } from '../deadlines.ts'
import { formatFail } from '../error-codec.ts'
import { receiveBody } from './flow-control.ts'
import { FrameConnection, toBuffer } from './frame-connection.ts'
import { createFrameMemory } from './frame-memory.ts'
import { FrameReader, type FrameReceiver } from './frame-reader.ts'
import type { FrameSocket } from './frame-socket.ts'
import { FrameWriter } from './frame-writer.ts'
import {
  CALL,
  CALL_BYTES,
  CANCEL,
  CREDIT,
  DATA,
  END,
  METADATA_MAX_BYTES,
  METADATA_TOO_LONG,
  MORE,
  type ProtocolError,
  protocolError,
  readU16,
  readU32,
  STREAM_ID_MAX,
  TEXT_MESSAGE,
  UNEXPECTED_TYPE,
  UNKNOWN_STREAM,
} from './frames.ts'
import { ServerCall, type ServerCallCarrier } from './server-call.ts'

/** Limits of a single connection; `callMemory` limits the requests of all callers together. */
export interface ServerLimits {
  /** Maximum number of calls in flight; further calls fail with 503. @default 100000 */
  readonly maxCalls?: number
  /** Maximum request bytes in flight; further calls fail with 503. @default 268435456 */
  readonly maxRequestBytes?: number
  /** Maximum bytes buffered for a slow caller; if exceeded, the connection is closed. @default 268435456 */
  readonly maxWaitingBytes?: number
  /** Maximum frame payload in bytes. @default 16777216 */
  readonly maxPayloadBytes?: number
  /** Called after `onCancel` of the remaining calls. */
  readonly onClosed?: () => void
}

const OLD_STREAM = protocolError('stream ids must grow')
const WRONG_CALL = protocolError('names and metadata do not fit the payload')
const NO_MORE = protocolError('body after the final body')

/** Number of buffered bytes at which a slow caller is no longer read. Reading resumes at half of it. */
const PAUSE_BYTES = 4 * 1024 * 1024

/** Time for the caller to close the connection after GOAWAY, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2000

const NOTHING = Buffer.alloc(0)

/** The server end of a connection (docs/protocol.md §2). */
export class ServerConnection
  extends FrameConnection<ServerCall>
  implements FrameReceiver<Buffer>, ServerCallCarrier
{
  readonly #dispatch: Dispatch
  readonly #maxCalls: number
  readonly #maxRequestBytes: number
  readonly #maxWaitingBytes: number
  readonly #onClosed: (() => void) | undefined
  readonly #reader: FrameReader<Buffer>
  #lastId = 0
  #requestBytes = 0
  #leaving = false
  /** Timer that runs when a connection has no more calls after GOAWAY. */
  #closeTimer: NodeJS.Timeout | undefined = undefined
  #paused = false
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0
  #dispatching = false

  constructor(dispatch: Dispatch, limits: ServerLimits = {}) {
    super(limits.maxPayloadBytes)
    this.#dispatch = dispatch
    this.#maxCalls = limits.maxCalls ?? 100_000
    this.#maxRequestBytes = limits.maxRequestBytes ?? 256 * 1024 * 1024
    this.#maxWaitingBytes = limits.maxWaitingBytes ?? 256 * 1024 * 1024
    this.#onClosed = limits.onClosed
    const memory = createFrameMemory(() => this.#end(TRY_AGAIN_LATER, 'too many unfinished frames'))
    this.#reader = new FrameReader(this, memory, this.payloadMaxBytes)
  }

  /** Attaches the socket. Must be called before the first message. */
  open(socket: FrameSocket): void {
    this.socket = socket
    this.writer = new FrameWriter(socket, this.payloadMaxBytes)
  }

  /**
   * Sends GOAWAY and stops accepting calls; calls in flight continue. Then the caller closes the connection, or this
   * end closes it after 2 s.
   */
  goAway(): void {
    if (this.#leaving || this.closed) return
    this.#leaving = true
    this.writer.goAway(this.#lastId)
    this.#closeIfIdle()
  }

  /** Closes the connection. Its calls are canceled. */
  close(): void {
    this.#end(1001, 'going away')
  }

  onMessage(data: Uint8Array, binary: boolean): void {
    if (this.closed) return
    const breach = binary ? this.#reader.read(toBuffer(data)) : TEXT_MESSAGE
    if (breach !== undefined) this.#end(breach.code, breach.reason)
  }

  onDrain(): void {
    if (this.closed) return
    this.writer.drained()
    this.#count()
    if (this.#paused && this.writer.waitingBytes <= PAUSE_BYTES / 2) {
      this.#paused = false
      this.socket.resume()
    }
    this.resumeCalls()
    if (this.#leaving && !this.writer.blocked) this.#closeIfIdle()
  }

  onClose(): void {
    this.#abortCalls()
  }

  onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): ProtocolError | undefined {
    if (type === CALL) return this.#call(flags, id, bytes, start, end)
    const call = this.calls.get(id)
    if (call === undefined) {
      if (type !== DATA && type !== END && type !== CANCEL && type !== CREDIT)
        return UNEXPECTED_TYPE
      return id === 0 || id > this.#lastId ? UNKNOWN_STREAM : undefined
    }
    switch (type) {
      case DATA:
        if (!call.receiving) return NO_MORE
        return this.#data(call, bytes.subarray(start, end))
      case END:
        if (!call.receiving) return NO_MORE
        call.receiving = false
        call.receiver.onEnd()
        return undefined
      case CANCEL:
        this.#take(call)
        call.receiver.onCancel('cancel')
        this.#closeIfIdle()
        return undefined
      case CREDIT:
        return this.credit(call, readU32(bytes, start))
      default:
        return UNEXPECTED_TYPE
    }
  }

  // Methods for its calls

  reply(call: ServerCall, metadata: string, body: string | Uint8Array): void {
    const { service } = call
    if (!mayWait(body)) return this.fail(call, rejectResponse(service))
    if (metadata.length > METADATA_MAX_BYTES) {
      const detail = `response metadata must be at most ${METADATA_MAX_BYTES} bytes`
      return this.fail(call, new GatewayError(service, 500, detail))
    }
    if (!this.writer.reply(call.id, 0, metadata, body)) {
      const detail = `response must be at most ${this.payloadMaxBytes} bytes including metadata`
      return this.fail(call, new GatewayError(service, 500, detail))
    }
    this.#finish(call)
  }

  fail(call: ServerCall, error: GatewayError): void {
    this.writer.fail(call.id, formatFail(error, call.receiver.repeatable))
    this.#finish(call)
  }

  start(call: ServerCall, metadata: string): void {
    if (metadata.length > METADATA_MAX_BYTES) {
      throw new TypeError(`metadata must be at most ${METADATA_MAX_BYTES} bytes`)
    }
    this.writer.reply(call.id, MORE, metadata, NOTHING)
    this.#bound()
  }

  endData(call: ServerCall): void {
    this.writer.end(call.id)
    this.#finish(call)
  }

  override consumed(call: ServerCall, bytes: number): void {
    if (!call.receiving) return
    super.consumed(call, bytes)
    this.#bound()
  }

  expire(call: ServerCall): void {
    const detail = `no response within ${call.timeoutMs} ms`
    const error = new GatewayError(call.service, 408, detail)
    this.writer.fail(call.id, formatFail(error, call.receiver.repeatable))
    this.#take(call)
    call.receiver.onCancel('timeout')
    this.#bound()
    this.#closeIfIdle()
  }

  protected override onCredit(call: ServerCall): void {
    call.receiver.onCredit()
  }

  #data(call: ServerCall, body: Buffer): ProtocolError | undefined {
    const breach = receiveBody(call, body.length)
    if (breach === undefined) call.receiver.onData(body)
    return breach
  }

  #call(
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): ProtocolError | undefined {
    if (id <= this.#lastId || id > STREAM_ID_MAX) return OLD_STREAM
    const serviceBytes = readU16(bytes, start + 4)
    const endpointBytes = serviceBytes + readU16(bytes, start + 6)
    const metadataBytes = readU32(bytes, start + 8)
    const textStart = start + CALL_BYTES
    const bodyStart = textStart + endpointBytes + metadataBytes
    if (metadataBytes > METADATA_MAX_BYTES) return METADATA_TOO_LONG
    if (bodyStart > end) return WRONG_CALL
    this.#lastId = id
    // The call was sent before GOAWAY arrived; the caller retries it elsewhere.
    if (this.#leaving) return undefined
    // One string that is sliced into three parts, because a decode call costs more than slicing.
    const text = bytes.toString('latin1', textStart, bodyStart)
    const service = text.slice(0, serviceBytes)
    if (this.calls.size >= this.#maxCalls || this.#requestBytes > this.#maxRequestBytes) {
      const error = new GatewayError(service, 503, 'too many calls in flight')
      this.writer.fail(id, formatFail(error))
      this.#bound()
      return undefined
    }
    const bodyBytes = end - bodyStart
    if (callMemory.usedBytes + bodyBytes > callMemory.maxBytes) {
      this.writer.fail(id, formatFail(rejectBody(service)))
      this.#bound()
      return undefined
    }
    const call = new ServerCall(
      this,
      id,
      flags,
      readU32(bytes, start),
      service,
      text.slice(serviceBytes, endpointBytes),
      text.slice(endpointBytes),
      bytes.subarray(bodyStart, end),
    )
    this.#dispatching = true
    try {
      this.#dispatch(call)
    } catch (thrown) {
      call.fail(GatewayError.from(thrown, service))
    }
    this.#dispatching = false
    call.body = NOTHING
    // Calls with a synchronous response never enter the table.
    if (!call.isSettled) this.#retain(call, bodyBytes)
    if (this.#leaving) this.#closeIfIdle()
    return undefined
  }

  #retain(call: ServerCall, bodyBytes: number): void {
    if (this.closed) {
      call.isSettled = true
      call.receiver.onCancel('closed')
      return
    }
    call.bodyBytes = bodyBytes
    this.#requestBytes += bodyBytes
    callMemory.usedBytes += bodyBytes
    this.calls.add(call.id, call)
    if (call.timeoutMs > 0) deadlines.add(call, call.timeoutMs)
  }

  /** Ends a call after its response was written. */
  #finish(call: ServerCall): void {
    this.#take(call)
    this.#bound()
    if (this.#leaving) this.#closeIfIdle()
  }

  /**
   * Called after each write. Stops reading from a caller with too many buffered responses, and closes the connection if
   * the limit is exceeded.
   */
  #bound(): void {
    const { waitingBytes } = this.writer
    if (this.writer.blocked) this.#count()
    if (waitingBytes <= PAUSE_BYTES) return
    if (waitingBytes > this.#maxWaitingBytes) {
      this.#abortCalls()
      this.socket.terminate()
    } else if (!this.#paused && !this.closed) {
      this.#paused = true
      this.socket.pause()
    }
  }

  /** Counts the bytes buffered for a slow caller, including bytes in the socket. */
  #count(): void {
    const { blocked, waitingBytes } = this.writer
    const bytes = blocked && !this.closed ? waitingBytes : 0
    replyMemory.usedBytes += bytes - this.#waitingBytes
    this.#waitingBytes = bytes
  }

  #take(call: ServerCall): void {
    call.isSettled = true
    if (!this.remove(call)) return
    this.#requestBytes -= call.bodyBytes
    callMemory.usedBytes -= call.bodyBytes
    deadlines.remove(call)
  }

  /** Closes the connection once it has no more calls. */
  #closeIfIdle(): void {
    if (!this.#leaving || this.calls.size > 0 || this.#dispatching || this.closed) return
    this.writer.flush()
    if (this.writer.waitingBytes > 0) return
    // Closing immediately would cause TCP resets for calls in transit, so that the caller loses unread data such as
    // GOAWAY.
    this.#closeTimer ??= setTimeout(() => this.close(), CLOSE_TIMEOUT_MS)
  }

  #end(code: number, reason: string): void {
    if (this.closed) return
    this.writer.flush()
    this.#abortCalls()
    this.socket.close(code, reason)
  }

  #abortCalls(): void {
    if (this.closed) return
    this.closed = true
    this.#count()
    clearTimeout(this.#closeTimer)
    this.writer.close()
    this.#reader.clear()
    for (const call of this.calls.list()) {
      if (call.isSettled) continue
      this.#take(call)
      call.receiver.onCancel('closed')
    }
    this.#onClosed?.()
  }
}
