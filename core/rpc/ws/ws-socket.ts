import type { WebSocket } from 'ws'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import type { SocketReceiver } from '../../listener/websocket/session.ts'
import type { FrameSocket } from './frame-socket.ts'

/** Watermarks of buffered bytes: the sender pauses at the high one and resumes at the low one. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024

const BINARY = { binary: true } as const

/** Frame socket over a WebSocket from the `ws` library, client or server. */
export class WsSocket implements FrameSocket {
  readonly #socket: WebSocket
  readonly #receiver: SocketReceiver
  #slow = false
  /** Cause of the broken connection, as observed by this end. */
  #fault = ''

  /** @param socket an open WebSocket. */
  constructor(socket: WebSocket, receiver: SocketReceiver) {
    this.#socket = socket
    this.#receiver = receiver
    // Messages arrive as one buffer, usually without a copy.
    socket.binaryType = 'nodebuffer'
    socket.on('message', (data, binary) => receiver.onMessage(data as Buffer, binary))
    socket.on('error', (error) => {
      this.#fault = error.message
    })
    socket.on('close', (code, reason) => {
      receiver.onClose(code, this.#fault === '' ? reason.toString() : this.#fault)
    })
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount
  }

  send(bytes: Uint8Array): boolean {
    // The library sends the given memory itself instead of a copy, and not immediately.
    const { length } = bytes
    const memory = isPooled(length) ? acquireBuffer(length) : undefined
    const message = memory?.subarray(0, length) ?? Buffer.allocUnsafe(length)
    message.set(bytes)
    this.#socket.send(message, BINARY, (error) => this.#sent(memory, error))
    this.#slow ||= this.#socket.bufferedAmount > HIGH_BYTES
    return !this.#slow
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason)
    // A paused socket would never read the close frame of the peer.
    this.#socket.resume()
  }

  terminate(): void {
    this.#socket.terminate()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  #sent(memory: Buffer | undefined, error: Error | null | undefined): void {
    // After an error, the memory may still be read, so it is left to the garbage collector.
    if (memory !== undefined && error == null) releaseBuffer(memory)
    if (!this.#slow || this.#socket.bufferedAmount > LOW_BYTES) return
    this.#slow = false
    this.#receiver.onDrain()
  }
}
