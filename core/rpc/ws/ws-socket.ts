import type { WebSocket } from 'ws'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import type { SocketReceiver } from '../../listener/websocket/session.ts'
import type { FrameSocket } from './frame-socket.ts'

/** Bytes waiting for the other end at which the sender is to hold back, and at which it may go on. */
const HIGH_BYTES = 1024 * 1024
const LOW_BYTES = 256 * 1024

const BINARY = { binary: true } as const

/** A WebSocket of the library `ws`, either end, as frames need it. */
export class WsSocket implements FrameSocket {
  readonly #socket: WebSocket
  readonly #receiver: SocketReceiver
  #slow = false
  /** Why the connection broke, as far as this end knows. */
  #fault = ''

  /** @param socket an open one. */
  constructor(socket: WebSocket, receiver: SocketReceiver) {
    this.#socket = socket
    this.#receiver = receiver
    // Messages come as one piece of memory, most often as it was read.
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
    // The library sends what it is given, not a copy of it, and not at once.
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
    // Held back, it would never read that the other end closes, too.
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
    // After an error it is unknown who still reads it: left to the garbage collector.
    if (memory !== undefined && error == null) releaseBuffer(memory)
    if (!this.#slow || this.#socket.bufferedAmount > LOW_BYTES) return
    this.#slow = false
    this.#receiver.onDrain()
  }
}
