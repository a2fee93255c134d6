import type { Socket } from 'node:net'
import { copyToBuffer, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import { WebSocket } from '../../../lib/net/ws.ts'
import { countBuffered, type RequestBuffer } from '../../limits/request-buffers.ts'
import { generateMask, maskInPlace } from '../../upstream/masking.ts'
import type { ClientThrottle } from '../client-throttle.ts'
import { type TickReader, TickShare } from '../tick-share.ts'
import { NO_STATUS } from './close-codes.ts'
import { STALL_MAX_MS } from './limits.ts'

/** Number of bytes waiting for a slow backend at which the client is paused, and at which it is resumed. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024
/** Smaller amounts are not counted as buffered, since nearly all messages are sent immediately. */
const COUNTED_MIN_BYTES = 64 * 1024
/** Memory overhead of a waiting frame. */
const FRAME_COST_BYTES = 512

/**
 * Payloads of this length or more are masked here, because `ws` masks byte by byte and takes 1 ms or more per megabyte.
 */
const LONG_MIN_BYTES = 16 * 1024
const FINAL_TEXT = 0x81
const FINAL_BINARY = 0x82

const TEXT = { binary: false } as const
const BINARY = { binary: true } as const

type FrameKind = 'text' | 'binary' | 'ping' | 'pong'

interface QueuedFrame {
  readonly kind: FrameKind
  readonly data: Uint8Array
}

/**
 * Writes the client's frames to the backend's WebSocket at the pace of the backend. Frames beyond 1 MiB are queued
 * unmasked: a hundred of them may arrive in one tick.
 *
 * The memory of arguments may be reused after each call.
 */
export class BackendWriter implements RequestBuffer, TickReader {
  bufferedBytes = 0
  readonly isDroppable = true
  readonly #backend: WebSocket
  readonly #connection: Socket
  readonly #maxWaitingBytes: number
  readonly #throttle: ClientThrottle | undefined
  readonly #onOverflow: () => void
  #queue: QueuedFrame[] = []
  #queuedBytes = 0
  /** Payload bytes of all client frames so far. */
  #receivedBytes = 0
  readonly #tickShare: TickShare | undefined
  #isPausedForTick = false
  /** Number of frames that are queued or not yet passed to the kernel. */
  #frames = 0
  #corked = false
  #released = false
  /** Close frame to send to the backend after the queue. */
  #close: { readonly code: number; readonly reason: string } | undefined = undefined
  /** Timer that runs while the client is paused. */
  #stall: NodeJS.Timeout | undefined = undefined
  readonly #sent = (): void => {
    this.#frames--
    if (this.bufferedBytes === 0) return
    if (this.#sendingBytes <= LOW_BYTES) this.#sendQueue()
    this.#count()
    if (this.#stall !== undefined && this.#waitingBytes <= LOW_BYTES) this.#resume()
  }
  readonly #uncork = (): void => {
    this.#corked = false
    this.#connection.uncork()
  }

  /**
   * @param maxWaitingBytes limit of this writer, in addition to the limit of the process.
   * @param throttle pauses the client; undefined if the library cannot.
   * @param onOverflow called once if the backend reads nothing for too long, or too many bytes are waiting for it.
   */
  constructor(
    backend: WebSocket,
    connection: Socket,
    maxWaitingBytes: number,
    throttle: ClientThrottle | undefined,
    onOverflow: () => void,
  ) {
    this.#backend = backend
    this.#connection = connection
    this.#maxWaitingBytes = maxWaitingBytes
    this.#throttle = throttle
    this.#onOverflow = onOverflow
    this.#tickShare = throttle && new TickShare(this)
  }

  send(message: ArrayBuffer, binary: boolean): void {
    this.#write(binary ? 'binary' : 'text', message)
  }

  ping(data: ArrayBuffer): void {
    this.#write('ping', data)
  }

  pong(data: ArrayBuffer): void {
    this.#write('pong', data)
  }

  /** Closes the backend's WebSocket after the waiting frames. `code` 1005 sends no code. */
  close(code: number, reason: string): void {
    if (this.#queue.length === 0) return this.#closeBackend(code, reason)
    this.#close = { code, reason }
    this.#stall ??= setTimeout(() => this.#backend.terminate(), STALL_MAX_MS).unref()
  }

  /** Call when the backend's WebSocket is closed, so that waiting frames cannot be sent. */
  drop(): void {
    for (const { data } of this.#queue) releaseBuffer(data)
    this.#queue = []
    this.#queuedBytes = 0
    clearTimeout(this.#stall)
    this.#released = true
    this.#tickShare?.end()
    countBuffered(this, 0)
  }

  /** Call when the client is closing or disconnected, so that it is no longer paused. */
  release(isClientOpen: boolean): void {
    this.#released = true
    this.#tickShare?.end()
    if (this.#stall === undefined && !this.#isPausedForTick) return
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#isPausedForTick = false
    if (isClientOpen) this.#throttle?.resume()
    else this.#throttle?.stop()
  }

  pauseForTick(): void {
    if (this.#stall !== undefined) return
    this.#isPausedForTick = true
    this.#throttle!.pause()
  }

  resumeAfterTick(): void {
    if (!this.#isPausedForTick) return
    this.#isPausedForTick = false
    if (this.#stall === undefined) this.#throttle!.resume()
  }

  dropBufferedBody(): void {
    this.drop()
    this.#backend.terminate()
    this.#onOverflow()
  }

  /** Bytes passed to `ws` but not yet to the kernel. */
  get #sendingBytes(): number {
    return this.#backend.bufferedAmount
  }

  get #waitingBytes(): number {
    return this.#sendingBytes + this.#queuedBytes + this.#frames * FRAME_COST_BYTES
  }

  #write(kind: FrameKind, data: ArrayBuffer): void {
    if (this.#released) return
    this.#frames++
    this.#receivedBytes += data.byteLength
    if (this.#queue.length === 0 && this.#sendingBytes <= HIGH_BYTES) {
      this.#send(
        kind,
        isLong(kind, data.byteLength) ? copyToBuffer(new Uint8Array(data)) : Buffer.from(data),
      )
    } else {
      this.#queue.push({ kind, data: copyToBuffer(new Uint8Array(data)) })
      this.#queuedBytes += data.byteLength
    }
    const waiting = this.#waitingBytes
    if (waiting <= COUNTED_MIN_BYTES) return
    const readBytes = this.#receivedBytes - this.#sendingBytes - this.#queuedBytes
    const floods = this.#tickShare?.add(data.byteLength, readBytes) === true
    countBuffered(this, waiting)
    if (waiting <= HIGH_BYTES || this.#released) return
    if (waiting > this.#maxWaitingBytes || floods) this.dropBufferedBody()
    else if (this.#throttle !== undefined) this.#pause(this.#throttle)
  }

  /**
   * Frames that arrive together are sent together in one system call.
   *
   * @param data for long frames, memory of {@link copyToBuffer}, which is returned once it is sent.
   */
  #send(kind: FrameKind, data: Uint8Array): void {
    if (!this.#corked) {
      this.#corked = true
      this.#connection.cork()
      setImmediate(this.#uncork)
    }
    if (isLong(kind, data.length)) return this.#sendLong(kind, data)
    const backend = this.#backend
    // Masked into a copy before the call returns, because the memory belongs to the caller.
    if (kind === 'ping') backend.ping(data, undefined, this.#sent)
    else if (kind === 'pong') backend.pong(data, undefined, this.#sent)
    else backend.send(data, kind === 'binary' ? BINARY : TEXT, this.#sent)
  }

  /** Writes a frame directly to the socket, as `ws` does without compression. */
  #sendLong(kind: FrameKind, payload: Uint8Array): void {
    const done = (): void => {
      releaseBuffer(payload)
      this.#sent()
    }
    if (this.#backend.readyState !== WebSocket.OPEN) return process.nextTick(done)
    const head = Buffer.alloc(14)
    head[0] = kind === 'text' ? FINAL_TEXT : FINAL_BINARY
    // Masked, with a length of eight or two bytes (RFC 6455 §5.2).
    const keyAt = payload.length < 65_536 ? 4 : 10
    head[1] = keyAt === 4 ? 0xfe : 0xff
    if (keyAt === 4) head.writeUInt16BE(payload.length, 2)
    else head.writeUIntBE(payload.length, 4, 6)
    const key = head.subarray(keyAt, keyAt + 4)
    generateMask(key)
    maskInPlace(payload, key)
    this.#connection.write(head.subarray(0, keyAt + 4))
    this.#connection.write(payload, done)
  }

  #sendQueue(): void {
    let sent = 0
    while (sent < this.#queue.length && this.#sendingBytes <= HIGH_BYTES) {
      const { kind, data } = this.#queue[sent++]!
      this.#queuedBytes -= data.length
      this.#send(kind, data)
      if (!isLong(kind, data.length)) releaseBuffer(data)
    }
    this.#queue.splice(0, sent)
    if (this.#queue.length > 0 || this.#close === undefined) return
    const { code, reason } = this.#close
    this.#close = undefined
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#closeBackend(code, reason)
  }

  #count(): void {
    const waiting = this.#waitingBytes
    countBuffered(this, waiting > COUNTED_MIN_BYTES ? waiting : 0)
  }

  #closeBackend(code: number, reason: string): void {
    if (code === NO_STATUS) this.#backend.close()
    else this.#backend.close(code, reason)
  }

  #pause(throttle: ClientThrottle): void {
    // Repeated for every frame, because an incomplete write to the client makes the library resume reading.
    throttle.pause()
    this.#stall ??= setTimeout(() => this.dropBufferedBody(), STALL_MAX_MS).unref()
  }

  #resume(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
    if (!this.#released && !this.#isPausedForTick) this.#throttle?.resume()
  }
}

function isLong(kind: FrameKind, bytes: number): boolean {
  return bytes >= LONG_MIN_BYTES && (kind === 'binary' || kind === 'text')
}
