import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TOO_BIG } from './close-codes.ts'
import { FrameMeter, toCloseFrame } from './frame-counter.ts'

/** Time for the peer to accept the close frame. */
const CLOSE_TIMEOUT_MS = 2000

/**
 * The client side of a WebSocket that is proxied to a backend byte by byte.
 *
 * It replaces the client's socket, so that another backend can be tried if one is unreachable, messages above the limit
 * are rejected, and the gateway can close the WebSocket with its own code.
 */
export class TunnelStream extends Duplex {
  readonly #socket: Socket
  readonly #fromClient = new FrameMeter(true)
  readonly #toClient = new FrameMeter(false)
  /** Whether the backend has accepted the handshake and its response is in flight. */
  #opened = false
  /** Whether the handshake response was sent, so that frames follow. */
  #framed = false
  #closing = false

  constructor(socket: Socket, head: Buffer) {
    super({ allowHalfOpen: false })
    // Each tried backend adds a listener, and their number is not limited.
    this.setMaxListeners(0)
    this.#socket = socket
    if (head.length > 0) this.push(head)
    // Read from the start, because a disconnect is only detected while reading.
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
  }

  /**
   * Detaches from the socket for an accepted WebSocket. Returns the bytes received from the client after its handshake.
   */
  release(): Buffer {
    const socket = this.#socket
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    // Also resumes a socket that was paused because nothing read it.
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

  /** Message bytes received from the client; compressed size for compressed messages. */
  get bytesIn(): number {
    return this.#fromClient.bytes
  }

  /** Message bytes sent to the client. */
  get bytesOut(): number {
    return this.#toClient.bytes
  }

  /** Whether the client, the backend or the gateway sent a close frame. */
  get agreed(): boolean {
    return this.#closing || this.#fromClient.closed || this.#toClient.closed
  }

  /** Called when a backend has accepted: its response is written next, followed by frames. */
  open(messageMaxBytes: number): void {
    this.#opened = true
    this.#fromClient.messageMaxBytes = messageMaxBytes
    this.#toClient.messageMaxBytes = messageMaxBytes
  }

  /** Ends the WebSocket with a close frame at a frame boundary, otherwise by closing the connection. */
  closeWith(code: number, reason: string): void {
    if (this.#closing || this.destroyed) return
    const fits = this.#framed && this.#toClient.atBoundary
    this.#endLater(fits ? toCloseFrame(code, reason) : undefined)
  }

  /** Called when the backend's connection has ended, with or without a close frame. */
  backendEnded(): void {
    if (!this.#toClient.closed) this.closeWith(1011, 'the backend disconnected')
  }

  /** Called by the proxy when a backend failed. Only ends the client's connection if it was tied to that backend. */
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
    const closeCode = chunk === null ? 0 : this.#fromClient.feed(chunk)
    if (closeCode === 0) return super.push(chunk)
    this.closeWith(closeCode, closeCode === TOO_BIG ? 'message too long' : 'malformed frame')
    return false
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const fits = this.#closing || !this.#framed || this.#measure(chunk)
    // The first write is the complete handshake response.
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

  /** Returns false if the backend sent bytes that must not be forwarded, which ends the WebSocket. */
  #measure(chunk: Buffer): boolean {
    const free = this.#toClient.atBoundary
    const closeCode = this.#toClient.feed(chunk)
    if (closeCode === 0) return true
    const reason = closeCode === TOO_BIG ? 'message too long' : 'invalid message from the backend'
    this.#endLater(free ? toCloseFrame(closeCode, reason) : undefined)
    return false
  }

  #endLater(frame: Buffer | undefined): void {
    this.#closing = true
    if (frame !== undefined) this.#socket.write(frame)
    const timer = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS).unref()
    this.#socket.once('close', () => clearTimeout(timer))
    this.#socket.destroySoon()
  }
}
