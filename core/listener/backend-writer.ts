import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { ClientThrottle } from './client-throttle.ts'
import { STALL_MAX_MS } from './traffic.ts'

/** Bytes waiting for a slow backend at which the client is no longer read, and at which it is again. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024
/** What a frame costs in memory while it waits, beside its payload. */
const FRAME_COST_BYTES = 512

const TEXT = { binary: false } as const
const BINARY = { binary: true } as const

/**
 * Writes the client's frames to the backend's WebSocket, at the pace of the backend.
 *
 * The arguments' memory may be reused after each call.
 */
export class BackendWriter {
  readonly #backend: WebSocket
  readonly #connection: Socket
  readonly #maxWaitingBytes: number
  readonly #throttle: ClientThrottle | undefined
  readonly #onStall: () => void
  /** Frames not handed to the kernel yet. */
  #frames = 0
  #corked = false
  #released = false
  /** Runs while the client is held back. */
  #stall: NodeJS.Timeout | undefined = undefined
  readonly #sent = (): void => {
    this.#frames--
    if (this.#stall !== undefined && this.#waitingBytes <= LOW_BYTES) this.#resume()
  }
  readonly #uncork = (): void => {
    this.#corked = false
    this.#connection.uncork()
  }

  /**
   * @param maxWaitingBytes what may wait, the client held back or not.
   * @param throttle the client's, where the library has one.
   * @param onStall called once when the backend takes nothing for too long, or too much waits for it.
   */
  constructor(
    backend: WebSocket,
    connection: Socket,
    maxWaitingBytes: number,
    throttle: ClientThrottle | undefined,
    onStall: () => void,
  ) {
    this.#backend = backend
    this.#connection = connection
    this.#maxWaitingBytes = maxWaitingBytes
    this.#throttle = throttle
    this.#onStall = onStall
  }

  send(message: ArrayBuffer, binary: boolean): void {
    this.#before()
    // Masked into a copy before `send` returns, as it must be: the memory is the caller's.
    this.#backend.send(Buffer.from(message), binary ? BINARY : TEXT, this.#sent)
    this.#after()
  }

  ping(data: ArrayBuffer): void {
    this.#before()
    this.#backend.ping(Buffer.from(data), undefined, this.#sent)
    this.#after()
  }

  pong(data: ArrayBuffer): void {
    this.#before()
    this.#backend.pong(Buffer.from(data), undefined, this.#sent)
    this.#after()
  }

  /** The client is about to be closed, or gone: it is held back no longer. */
  release(clientOpen: boolean): void {
    this.#released = true
    if (this.#stall === undefined) return
    clearTimeout(this.#stall)
    this.#stall = undefined
    if (clientOpen) this.#throttle?.resume()
    else this.#throttle?.stop()
  }

  get #waitingBytes(): number {
    return this.#backend.bufferedAmount + this.#frames * FRAME_COST_BYTES
  }

  /** Frames that came in together go out together: one system call in place of one each. */
  #before(): void {
    this.#frames++
    if (this.#corked) return
    this.#corked = true
    this.#connection.cork()
    setImmediate(this.#uncork)
  }

  #after(): void {
    const waiting = this.#waitingBytes
    if (waiting <= HIGH_BYTES || this.#released) return
    if (waiting > this.#maxWaitingBytes) this.#onStall()
    else if (this.#throttle !== undefined) this.#pause(this.#throttle)
  }

  #pause(throttle: ClientThrottle): void {
    // Again with every frame: a write to the client that does not go out whole makes the library read on.
    throttle.pause()
    this.#stall ??= setTimeout(this.#onStall, STALL_MAX_MS).unref()
  }

  #resume(): void {
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#throttle?.resume()
  }
}
