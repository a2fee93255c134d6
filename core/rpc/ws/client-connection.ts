// A single long file: the calls of a connection share its state.
import { clock } from '../../../lib/time/coarse-clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Carrier, OutgoingCall } from '../call.ts'
import { deadlines } from '../deadlines.ts'
import { parseFail, toBadResponse } from '../error-codec.ts'
import { openWindows, receiveBody } from './flow-control.ts'
import { FrameConnection, toBuffer } from './frame-connection.ts'
import { createFrameMemory } from './frame-memory.ts'
import { FrameReader, type FrameReceiver } from './frame-reader.ts'
import type { FrameSocket } from './frame-socket.ts'
import { FrameWriter } from './frame-writer.ts'
import {
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
} from './frames.ts'

/** Number of bytes buffered for a slow service at which new calls are rejected. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024

export interface ClientOwner {
  /** Called once, before `onUnsent`, when the connection accepts no more calls. Calls in flight continue. */
  readonly onRetired: (connection: ClientConnection) => void
  /** Returns a call that is known to be unprocessed. Its deadline still applies. */
  readonly onUnsent: (call: OutgoingCall) => void
  /** Called when the last call in flight has ended. */
  readonly onIdle: (connection: ClientConnection) => void
  /** Called once, before its calls fail. */
  readonly onClosed: (connection: ClientConnection) => void
}

/** The client end of a connection (docs/protocol.md §2). */
export class ClientConnection
  extends FrameConnection<OutgoingCall>
  implements Carrier, FrameReceiver<Buffer>
{
  /** Whether the connection accepts no more calls. */
  retired = false
  /** `clock.nowMs` of the last received message, or of the start of waiting for one. */
  lastSeenMs: number = clock.nowMs
  readonly #owner: ClientOwner
  readonly #reader: FrameReader<Buffer>
  /** Whether a GOAWAY was received. */
  #isGoingAway = false
  #lastId: number

  /** @param lastId stream id before the first one to use. */
  constructor(
    socket: FrameSocket,
    owner: ClientOwner,
    payloadMaxBytes: number = PAYLOAD_MAX_BYTES,
    lastId = 0,
  ) {
    super(payloadMaxBytes)
    this.socket = socket
    this.writer = new FrameWriter(socket, payloadMaxBytes)
    this.#owner = owner
    const memory = createFrameMemory(() => this.terminate('too many unfinished frames'))
    this.#reader = new FrameReader(this, memory, payloadMaxBytes)
    this.#lastId = lastId
  }

  /** Sends a call at the end of this tick. A call that cannot be sent fails before the method returns. */
  call(call: OutgoingCall): void {
    const rejection = this.#reject(call)
    if (rejection !== undefined) {
      call.release()
      call.onFail(rejection)
      return
    }
    if (this.writer.waitingBytes > WAITING_MAX_BYTES) {
      call.release()
      call.onLost('full', 'the service is slow to accept calls')
      return
    }
    if (this.calls.size === 0) this.lastSeenMs = clock.nowMs
    const id = ++this.#lastId
    call.carrier = this
    call.id = id
    openWindows(call)
    call.isBlocked = false
    call.started = false
    call.answering = false
    let remainingMs = call.timeoutMs
    if (remainingMs > 0) {
      if (call.timedNext === undefined) deadlines.add(call, remainingMs, call.sentMs)
      else remainingMs = deadlines.left(call)
    }
    this.calls.add(id, call)
    // Except for an empty body, which would be a request in a call without MORE.
    if (call.halfClosed && call.body.length > 0) call.more = false
    const flags = (call.more ? MORE : 0) | (call.stream ? STREAM : 0)
    if (!this.writer.call(id, flags, remainingMs, call)) {
      this.#take(call)
      const detail = `request must be at most ${this.payloadMaxBytes} bytes including metadata`
      call.onFail(new GatewayError(call.service, 413, detail))
      this.#closeIfIdle()
    } else if (call.halfClosed && call.more) this.writer.end(id)
    if (id === STREAM_ID_MAX) this.#retire()
  }

  override sendData(call: OutgoingCall, body: string | Uint8Array): boolean {
    if (!call.more || call.halfClosed) throw new Error('endData was already called')
    const { started } = call
    // Set before sending, which may lose the connection.
    call.started = true
    const isSent = super.sendData(call, body)
    if (!isSent) call.started = started
    return isSent
  }

  endData(call: OutgoingCall): void {
    if (!call.more || call.halfClosed) return
    call.halfClosed = true
    this.writer.end(call.id)
  }

  cancel(call: OutgoingCall): void {
    this.writer.cancel(call.id)
    this.#take(call)
    this.#closeIfIdle()
  }

  expire(call: OutgoingCall): void {
    this.writer.cancel(call.id)
    this.#take(call)
    call.onLost('timeout', `no response within ${call.timeoutMs} ms`)
    this.#closeIfIdle()
  }

  /** Closes the connection. Its calls are lost. */
  close(detail: string): void {
    if (this.#disconnect(detail)) this.socket.close(1000, '')
  }

  /** Terminates the connection. Its calls are lost. */
  terminate(detail: string): void {
    if (this.#disconnect(detail)) this.socket.terminate()
  }

  onMessage(data: Uint8Array, binary: boolean): void {
    if (this.closed) return
    this.lastSeenMs = clock.nowMs
    const bytes = toBuffer(data)
    const breach = binary ? this.#reader.read(bytes) : TEXT_MESSAGE
    if (breach === undefined) return
    if (this.#disconnect(`protocol error by the service: ${breach.reason}`)) {
      this.socket.close(breach.code, breach.reason)
    }
  }

  onDrain(): void {
    if (this.closed) return
    this.writer.drained()
    this.resumeCalls()
  }

  onClose(code: number, reason: string): void {
    this.#disconnect(`connection closed (${code}${reason === '' ? '' : ` ${reason}`})`)
  }

  onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): ProtocolError | undefined {
    if (type === GOAWAY) return id === 0 ? this.#goAway(readU32(bytes, start)) : UNKNOWN_STREAM
    const call = this.calls.get(id)
    if (call === undefined) return id === 0 || id > this.#lastId ? UNKNOWN_STREAM : undefined
    if (id > this.writer.sentCallId) return UNKNOWN_STREAM
    switch (type) {
      case REPLY:
        return this.#reply(call, (flags & MORE) !== 0, bytes, start, end)
      case FAIL: {
        this.#take(call)
        const { service } = call
        const json = bytes.toString('utf8', start, end)
        const error = parseFail(json, service)
        if (error !== undefined) call.onFail(error)
        else call.onFail(toBadResponse(service, 'the error is not valid JSON'), true)
        this.#closeIfIdle()
        return undefined
      }
      case DATA:
        if (!call.stream) return WRONG_RESPONSE
        return this.#data(call, bytes, start, end)
      case END:
        if (!call.stream) return WRONG_RESPONSE
        this.#take(call)
        call.onEnd()
        this.#closeIfIdle()
        return undefined
      case CREDIT:
        return this.credit(call, readU32(bytes, start))
      default:
        return UNEXPECTED_TYPE
    }
  }

  protected override onCredit(call: OutgoingCall): void {
    call.onCredit()
  }

  #data(call: OutgoingCall, bytes: Buffer, start: number, end: number): ProtocolError | undefined {
    const breach = receiveBody(call, end - start)
    if (breach !== undefined) return breach
    call.answering = true
    call.onData(bytes.subarray(start, end))
    return undefined
  }

  #reply(
    call: OutgoingCall,
    more: boolean,
    bytes: Buffer,
    start: number,
    end: number,
  ): ProtocolError | undefined {
    const length = readU32(bytes, start)
    const bodyStart = start + 4 + length
    if (length > METADATA_MAX_BYTES || bodyStart > end) return METADATA_TOO_LONG
    if (call.answering) return WRONG_RESPONSE
    const metadata = length === 0 ? '' : bytes.toString('latin1', start + 4, bodyStart)
    if (more) {
      if (!call.stream || bodyStart !== end) return WRONG_RESPONSE
      call.answering = true
      call.onStart(metadata)
      return undefined
    }
    this.#take(call)
    call.onReply(metadata, bytes.subarray(bodyStart, end))
    this.#closeIfIdle()
    return undefined
  }

  /** Handles GOAWAY: calls with an id greater than `lastId` are not served. */
  #goAway(lastId: number): undefined {
    // Only the first GOAWAY is handled, since each one scans all calls.
    if (this.#isGoingAway) return
    this.#isGoingAway = true
    this.#retire()
    for (const call of this.calls.list()) {
      if (call.id <= lastId || call.carrier !== this) continue
      this.remove(call)
      call.carrier = undefined
      this.#returnUnsent(call)
    }
    this.#closeIfIdle()
  }

  #returnUnsent(call: OutgoingCall): void {
    if (!call.started) return this.#owner.onUnsent(call)
    call.release()
    call.onLost('unsent', 'the service accepts no more calls')
  }

  #take(call: OutgoingCall): void {
    this.remove(call)
    call.release()
  }

  /** Closes a retired connection without calls. */
  #closeIfIdle(): void {
    if (this.calls.size > 0 || this.closed) return
    if (this.retired) this.close('')
    else this.#owner.onIdle(this)
  }

  #retire(): void {
    if (this.retired) return
    this.retired = true
    this.#owner.onRetired(this)
  }

  /** @returns false if it was already closed. */
  #disconnect(detail: string): boolean {
    if (this.closed) return false
    this.closed = true
    const { sentCallId } = this.writer
    this.writer.close()
    this.#reader.clear()
    this.#owner.onClosed(this)
    const calls = this.calls.list()
    for (const call of calls) {
      if (call.carrier !== this) continue
      this.calls.delete(call.id)
      call.release()
      call.onLost(
        call.id > sentCallId ? 'unsent' : this.#isGoingAway ? 'stopped' : 'closed',
        detail,
      )
    }
    return true
  }

  #reject({ service, endpoint, metadata }: OutgoingCall): GatewayError | undefined {
    if (metadata.length > METADATA_MAX_BYTES) {
      const detail = `metadata must be at most ${METADATA_MAX_BYTES} bytes`
      return new GatewayError(service, 431, detail)
    }
    if (service.length > 0xffff || endpoint.length > 0xffff) {
      return new GatewayError(service.slice(0, 100), 400, 'service or endpoint name is too long')
    }
    return undefined
  }
}
