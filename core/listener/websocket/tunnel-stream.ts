import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TOO_BIG } from './close-codes.ts'
import { FrameMeter, toCloseFrame } from './frame-counter.ts'

/** How long the other end may take to accept the close frame. */
const CLOSE_TIMEOUT_MS = 2000

/**
 * The client's side of a WebSocket that is carried to a backend byte by byte.
 *
 * It stands in for the client's socket, so that a backend that cannot be reached
 * takes nothing with it and another may be tried, that messages beyond the limit
 * are refused, and that the gateway can end the WebSocket with a code of its own.
 */
export class TunnelStream extends Duplex {
  readonly #socket: Socket
  readonly #fromClient = new FrameMeter(true)
  readonly #toClient = new FrameMeter(false)
  /** The backend accepted the handshake, and its answer is on its way. */
  #opened = false
  /** The handshake's answer went out: frames follow. */
  #framed = false
  #closing = false

  constructor(socket: Socket, head: Buffer) {
    super({ allowHalfOpen: false })
    // One listener per backend tried, and there is no bound to those.
    this.setMaxListeners(0)
    this.#socket = socket
    if (head.length > 0) this.push(head)
    // Read from the start: only a socket that is read tells when the client leaves.
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
  }

  /** Gives up its place for a WebSocket that ends in this process. Returns what the client has sent behind its handshake. */
  release(): Buffer {
    const socket = this.#socket
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    // Also makes a socket flow that was stopped because nobody took what it sent.
    return this.read() ?? Buffer.alloc(0)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#closing) return
    if (!this.push(chunk)) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#opened) this.push(null)
    else this.#socket.destroy()
  }

  readonly #onClose = (): void => {
    this.destroy()
  }

  /** Bytes of messages that came from the client, as they were sent: compressed, where the two ends agreed on it. */
  get bytesIn(): number {
    return this.#fromClient.bytes
  }

  /** Bytes of messages that went to the client. */
  get bytesOut(): number {
    return this.#toClient.bytes
  }

  /** Whether the end was announced: by the client, the backend or the gateway. */
  get agreed(): boolean {
    return this.#closing || this.#fromClient.closed || this.#toClient.closed
  }

  /** A backend accepted: its answer, then frames, are written next. */
  open(messageMaxBytes: number): void {
    this.#opened = true
    this.#fromClient.messageMaxBytes = messageMaxBytes
    this.#toClient.messageMaxBytes = messageMaxBytes
  }

  /** Ends the WebSocket with a close frame where one fits in, else by closing the connection. */
  closeWith(code: number, reason: string): void {
    if (this.#closing || this.destroyed) return
    const fits = this.#framed && this.#toClient.atBoundary
    this.#endSoon(fits ? toCloseFrame(code, reason) : undefined)
  }

  /** The backend's connection has ended: with a close frame before, or all of a sudden. */
  backendEnded(): void {
    if (!this.#toClient.closed) this.closeWith(1011, 'the backend is gone')
  }

  /** Called by the proxy when a backend failed: ends the client's connection only if it was tied to that backend. */
  destroySoon(): void {
    if (this.#opened) this.#socket.destroySoon()
  }

  setTimeout(timeoutMs: number): this {
    this.#socket.setTimeout(timeoutMs)
    return this
  }

  setNoDelay(on: boolean): this {
    this.#socket.setNoDelay(on)
    return this
  }

  setKeepAlive(on: boolean, delayMs: number): this {
    this.#socket.setKeepAlive(on, delayMs)
    return this
  }

  override push(chunk: Buffer | null): boolean {
    const wrong = chunk === null ? 0 : this.#fromClient.feed(chunk)
    if (wrong === 0) return super.push(chunk)
    this.closeWith(wrong, wrong === TOO_BIG ? 'message too long' : 'malformed frame')
    return false
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const fits = this.#closing || !this.#framed || this.#measure(chunk)
    // The first thing written is the answer to the handshake, in one piece.
    this.#framed = true
    if (this.#closing || !fits) done()
    else this.#socket.write(chunk, done)
  }

  override _final(done: () => void): void {
    if (this.#opened) this.#socket.end(done)
    else done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  /** False when the backend sent what must not be passed on: the WebSocket ends then. */
  #measure(chunk: Buffer): boolean {
    const free = this.#toClient.atBoundary
    const wrong = this.#toClient.feed(chunk)
    if (wrong === 0) return true
    const reason = wrong === TOO_BIG ? 'message too long' : 'bad message of the backend'
    this.#endSoon(free ? toCloseFrame(wrong, reason) : undefined)
    return false
  }

  #endSoon(frame: Buffer | undefined): void {
    this.#closing = true
    if (frame !== undefined) this.#socket.write(frame)
    const timer = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS).unref()
    this.#socket.once('close', () => clearTimeout(timer))
    this.#socket.destroySoon()
  }
}
