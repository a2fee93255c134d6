import { FrameReader, type FrameReceiver } from '../../core/rpc/ws/frame-reader.ts'
import {
  CALL_BYTES,
  CREDIT,
  DATA,
  END,
  FAIL,
  GOAWAY,
  METADATA_MAX_BYTES,
  METADATA_TOO_LONG,
  MORE,
  PAYLOAD_MAX_BYTES,
  type ProtocolError,
  REPLY,
  readU32,
  STREAM,
  STREAM_ID_MAX,
  TEXT_MESSAGE,
  UNEXPECTED_TYPE,
  UNKNOWN_STREAM,
  WRONG_RESPONSE,
  WS_MESSAGE_MAX_BYTES,
} from '../../core/rpc/ws/frames.ts'
import {
  CallError,
  CONNECTION_ID,
  parseFields,
  readCallError,
  toBadResponse,
} from './call-error.ts'
import { type Bytes, type CallHead, formatCall, fromLatin1, join } from './frames.ts'
import { SentCall } from './sent-call.ts'

/** Maximum size of a message that contains several frames. */
const PACK_BYTES = 262_144

/** Socket of a connection. */
export interface Socket {
  readonly send: (message: Bytes) => void
  readonly close: (code: number, reason: string) => void
}

/** Parameters of a call. */
export interface CallOptions extends CallHead {
  /** True if the response is a stream. */
  readonly streams: boolean
  /** True if the request is a stream. */
  readonly sends: boolean
}

/** Client side of a WebSocket transport connection (docs/protocol.md §2). */
export class Connection implements FrameReceiver<Bytes> {
  closed = false
  /** True if GOAWAY was received or no ids are left, so that new calls require another connection. */
  leaving = false
  readonly #socket: Socket
  readonly #reader = new FrameReader<Bytes>(this, { allocate: (bytes) => new Uint8Array(bytes) })
  readonly #calls = new Map<number, SentCall>()
  #lastId = 0
  #frames: Bytes[] = []
  #packedBytes = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** Number of calls in flight. */
  get size(): number {
    return this.#calls.size
  }

  /**
   * Starts a call.
   *
   * @throws {CallError} 413 for a message beyond the limit, which would end the connection with all calls; 503 if it is
   * closed.
   */
  call(options: CallOptions): SentCall {
    checkLength(options)
    if (this.closed) throw toLost()
    const id = ++this.#lastId
    if (id === STREAM_ID_MAX) this.leaving = true
    const call = new SentCall(this, id, options)
    this.#calls.set(id, call)
    this.post(formatCall(id, (options.sends ? MORE : 0) | (options.streams ? STREAM : 0), options))
    return call
  }

  /** Receives a message. Text is a protocol error. */
  receive(message: Bytes | string): void {
    if (this.closed) return
    const breach = typeof message === 'string' ? TEXT_MESSAGE : this.#reader.read(message)
    if (breach !== undefined) this.#close(breach.code, breach.reason)
  }

  /** Fails all calls after the socket was closed. */
  lose(): void {
    this.closed = true
    for (const call of [...this.#calls.values()]) call.fail(toLost())
  }

  /** Sends a frame together with other frames of the same tick. */
  post(frame: Bytes): void {
    if (this.closed) return
    if (this.#packedBytes + frame.length > PACK_BYTES) this.#flush()
    if (this.#frames.push(frame) === 1) queueMicrotask(() => this.#flush())
    this.#packedBytes += frame.length
  }

  forget(id: number): void {
    this.#calls.delete(id)
    if (this.leaving && this.#calls.size === 0) this.#close(1000, 'left')
  }

  onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Bytes,
    start: number,
    end: number,
  ): ProtocolError | undefined {
    if (type === GOAWAY) return id === 0 ? this.#onGoaway(readU32(bytes, start)) : UNKNOWN_STREAM
    if (id === 0 || id > this.#lastId) return UNKNOWN_STREAM
    const call = this.#calls.get(id)
    switch (type) {
      case REPLY:
        return this.#onReply(call, flags, bytes.subarray(start, end))
      case FAIL:
        call?.fail(readCallError(toText(bytes.subarray(start, end)), call.service))
        return undefined
      case DATA:
        if (call === undefined) return undefined
        if (!call.streams) return WRONG_RESPONSE
        call.start()
        return call.receiveData(bytes.slice(start, end))
      case END:
        if (call?.streams === false) return WRONG_RESPONSE
        call?.finish()
        return undefined
      case CREDIT:
        return call?.receiveCredit(readU32(bytes, start))
      default:
        return UNEXPECTED_TYPE
    }
  }

  #onReply(call: SentCall | undefined, flags: number, payload: Bytes): ProtocolError | undefined {
    const length = readU32(payload, 0)
    if (length > METADATA_MAX_BYTES || length + 4 > payload.length) return METADATA_TOO_LONG
    if (call === undefined) return undefined
    const begins = (flags & MORE) !== 0
    if (call.started || (begins && (!call.streams || payload.length > 4 + length)))
      return WRONG_RESPONSE
    const fields = parseFields(fromLatin1(payload.subarray(4, 4 + length)))
    if (fields === undefined) {
      if (begins) call.cancel(toBadResponse(call.service))
      else call.fail(toBadResponse(call.service))
      return undefined
    }
    call.fields = fields
    if (begins) call.start()
    else call.receiveReply(payload.slice(4 + length))
    return undefined
  }

  #onGoaway(lastId: number): undefined {
    this.leaving = true
    for (const call of [...this.#calls.values()]) if (call.id > lastId) call.fail(toNotServed())
    if (this.#calls.size === 0) this.#close(1000, 'left')
  }

  #close(code: number, reason: string): void {
    if (this.closed) return
    this.#flush()
    this.lose()
    this.#socket.close(code, reason)
  }

  #flush(): void {
    if (this.closed || this.#frames.length === 0) return
    const message = join(this.#frames)
    this.#frames = []
    this.#packedBytes = 0
    for (let at = 0; at < message.length; at += WS_MESSAGE_MAX_BYTES)
      this.#socket.send(message.subarray(at, at + WS_MESSAGE_MAX_BYTES))
  }
}

/** @throws {CallError} 413 */
function checkLength({ service, endpoint, metadata, body }: CallHead): void {
  if (metadata.length > METADATA_MAX_BYTES) {
    const detail = `metadata must be at most ${METADATA_MAX_BYTES} bytes, got ${metadata.length}`
    throw new CallError(service, 413, detail)
  }
  const length = CALL_BYTES + service.length + endpoint.length + metadata.length + body.length
  if (length > PAYLOAD_MAX_BYTES) {
    const detail = `request must be at most ${PAYLOAD_MAX_BYTES} bytes including metadata, got ${length}`
    throw new CallError(service, 413, detail)
  }
}

/** Error of a call whose outcome is unknown. */
function toLost(): CallError {
  return new CallError(CONNECTION_ID, 503, 'the connection was lost before the response')
}

function toNotServed(): CallError {
  return new CallError(CONNECTION_ID, 503, 'the server is shutting down: the call was not served')
}

/** Decodes UTF-8. Invalid sequences are replaced and later fail as JSON. */
function toText(bytes: Bytes): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return ''
  }
}
