import type { WebSocket as BackendSocket } from 'ws'
import type { OpenBackend } from '../../upstream/websocket.ts'
import type { ClientThrottle } from '../client-throttle.ts'
import type { SocketOwner } from '../uws/peer.ts'
import type { WebSocket as ClientSocket } from '../uws/uws-types.d.ts'
import { BackendWriter } from './backend-writer.ts'
import {
  ABNORMAL,
  INTERNAL_ERROR,
  NO_STATUS,
  PROTOCOL_ERROR,
  TOO_BIG,
  TRY_AGAIN_LATER,
  WS_ERRORS,
} from './close-codes.ts'
import { CLIENT_HIGH_BYTES, CLIENT_LOW_BYTES, type TrafficMeter } from './limits.ts'

/**
 * Joins a client's WebSocket with a backend's: forwards messages, pings and close codes. The end of either side ends
 * both.
 *
 * Each side pauses the other. A client that still sends more than its backend reads is closed with 1013 if the requests
 * of the process buffer too much and it buffers most (`max_buffered`), or, if the library cannot pause it, once twice
 * the message limit is buffered.
 */
export class Tunnel implements SocketOwner {
  readonly #meter: TrafficMeter
  readonly #backend: BackendSocket
  readonly #connection: OpenBackend['connection']
  readonly #maxMessageBytes: number

  readonly #onEnd: (aborted: boolean) => void
  #client: ClientSocket | undefined = undefined
  #throttle: ClientThrottle | undefined = undefined
  #writer: BackendWriter | undefined = undefined
  #ended = false
  /** Number of backend pings without a pong from the client. */
  #pings = 0

  /**
   * @param onEnd called once after {@link opened}, when both sides are closed or closing;
   *   `aborted` if the client disconnected without a close frame.
   */
  constructor(
    meter: TrafficMeter,
    { socket: backend, connection }: OpenBackend,
    maxMessageBytes: number,
    onEnd: (aborted: boolean) => void,
  ) {
    this.#meter = meter
    this.#backend = backend
    this.#connection = connection
    this.#maxMessageBytes = maxMessageBytes

    this.#onEnd = onEnd
    backend.on('message', (data, binary) => this.#fromBackend(data as Buffer, binary))
    backend.on('ping', (data) => this.#pingFromBackend(data))
    backend.on('error', (error: NodeJS.ErrnoException) => this.#backendFailed(error))
    backend.on('close', (code, reason) => this.#backendClosed(code, reason))
  }

  opened(client: ClientSocket, throttle: ClientThrottle | undefined): void {
    this.#client = client
    this.#throttle = throttle
    const maxWaitingBytes =
      throttle === undefined ? 2 * this.#maxMessageBytes : Number.POSITIVE_INFINITY
    this.#writer = new BackendWriter(
      this.#backend,
      this.#connection,
      maxWaitingBytes,
      throttle,
      () => this.#overflow(),
    )
  }

  /** Ends a tunnel that was never opened. */
  abandon(): void {
    this.#ended = true
    this.#backend.terminate()
  }

  close(code: number, reason: string): void {
    this.#closeBackend(code, reason)
    this.#end(code, reason)
  }

  // Events from the client

  messageFromClient(message: ArrayBuffer, binary: boolean): void {
    if (this.#ended) return
    const { byteLength } = message
    this.#meter.bytesIn += byteLength
    if (byteLength > this.#maxMessageBytes) return this.close(TOO_BIG, 'message too long')
    this.#writer!.send(message, binary)
  }

  /** Forwards the ping to the backend as a keep-alive. */
  pingFromClient(data: ArrayBuffer): void {
    if (!this.#ended) this.#writer!.ping(data)
  }

  pongFromClient(data: ArrayBuffer): void {
    // An empty pong may respond to a ping of the library. Unexpected pongs are not forwarded.
    if (this.#ended || this.#pings === 0) return
    this.#pings--
    this.#writer!.pong(data)
  }

  clientDrained(): void {
    if (this.#ended || !this.#backend.isPaused) return
    if (this.#client!.getBufferedAmount() <= CLIENT_LOW_BYTES) this.#backend.resume()
  }

  clientClosed(code: number, reason: string, abrupt: boolean): void {
    this.#client = undefined
    this.#throttle?.stop()
    if (this.#ended) return
    this.#writer!.release(false)
    if (code === ABNORMAL) {
      this.#backend.terminate()
      this.#writer!.drop()
    } else this.#closeBackend(code, reason)
    this.#ended = true
    this.#onEnd(abrupt)
  }

  // Events from the backend

  #fromBackend(data: Buffer, binary: boolean): void {
    if (this.#ended) return
    this.#meter.bytesOut += data.length
    const client = this.#client!
    const isBackedUp = client.send(data, binary) !== 1
    if (!isBackedUp || this.#ended) return
    this.#throttle?.pauseClient()
    if (client.getBufferedAmount() > CLIENT_HIGH_BYTES) this.#backend.pause()
  }

  #pingFromBackend(data: Buffer): void {
    if (this.#ended) return
    this.#pings++
    if (this.#client!.ping(data) !== 1) this.#throttle?.pauseClient()
  }

  /** Called after `ws` has closed the backend side with the same code. */
  #backendFailed(error: NodeJS.ErrnoException): void {
    const { code = '' } = error
    // An error without a library code is a socket error, and `close` follows.
    if (!code.startsWith('WS_ERR')) return
    const [status, reason] = WS_ERRORS[code] ?? [PROTOCOL_ERROR, 'malformed frame from the backend']
    this.#end(status, reason)
  }

  #backendClosed(code: number, reason: Buffer): void {
    if (code === ABNORMAL) this.#end(INTERNAL_ERROR, 'the backend disconnected')
    else this.#end(code, reason)
    this.#writer?.drop()
  }

  /**
   * A client that sends too fast stays paused until the library closes its connection, since reading it would be
   * useless.
   */
  #overflow(): void {
    if (this.#ended) return
    this.#throttle?.stop()
    this.#end(TRY_AGAIN_LATER, 'the backend reads more slowly than the client sends')
  }

  #end(code: number, reason: string | Buffer): void {
    if (this.#ended) return
    this.#ended = true
    const client = this.#client
    this.#client = undefined
    this.#writer?.release(client !== undefined)
    // The library expects no code for a close frame without a code.
    if (code === NO_STATUS) client?.end()
    else client?.end(code, reason)
    this.#onEnd(false)
  }

  #closeBackend(code: number, reason: string): void {
    const backend = this.#backend
    // The backend's close frame follows bytes that were not read while the client was slow.
    if (backend.isPaused) backend.resume()
    if (this.#writer === undefined) backend.terminate()
    else this.#writer.close(code, reason)
  }
}
