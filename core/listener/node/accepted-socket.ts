import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerOptions } from 'ws'
import { type WebSocket, WebSocketServer } from '../../../lib/net/ws.ts'
import type { HeaderList } from '../../http/headers.ts'
import { countBuffered, type RequestBuffer } from '../../limits/request-buffers.ts'
import { AcceptedSocket } from '../websocket/accepted-socket.ts'
import { ABNORMAL, NO_STATUS, PROTOCOL_ERROR, WS_ERRORS } from '../websocket/close-codes.ts'
import type { TrafficMeter } from '../websocket/limits.ts'
import type { SocketReceiver } from '../websocket/session.ts'

/**
 * Interval of keep-alive checks. A silent client receives a ping, and is closed if it is still silent at the next
 * check.
 */
const SILENCE_MAX_MS = 30_000
/** Time for a client to accept the close frame. */
const CLOSE_TIMEOUT_MS = 10_000

/** Incomplete messages below this size are not counted, since most messages arrive in one piece. */
const PARTIAL_MIN_BYTES = 64 * 1024
/** Header size of a client frame with a payload below 126 bytes, such as a ping (RFC 6455 §5.2, §5.5). */
const SHORT_HEAD_BYTES = 6

const TEXT = { binary: false } as const
const BINARY = { binary: true } as const

/** Response to an opening handshake. */
export interface HandshakeResponse {
  /** The client's `Sec-WebSocket-Key`. */
  readonly key: string
  /** Subprotocol; empty if none. */
  readonly protocol: string
  readonly headers: HeaderList
  readonly maxMessageBytes: number
}

/** A client's WebSocket on node:http that this process accepted. */
export class NodeAcceptedSocket extends AcceptedSocket {
  readonly #client: WebSocket
  readonly #socket: Socket
  readonly #watch: NodeJS.Timeout
  #lastBytesRead = 0
  #isPingPending = false
  /** Bytes received since the last complete message, which the library buffers until the next message is complete. */
  #partialBytes = 0
  readonly #partial: RequestBuffer = {
    bufferedBytes: 0,
    isDroppable: true,
    // A close frame would keep them in memory until the client responds to it.
    dropBufferedBody: () => this.closeConnection(),
  }

  /** @param onClosed called once when the connection has ended, after `onSettled`. */
  constructor(
    client: WebSocket,
    socket: Socket,
    meter: TrafficMeter,
    receiver: SocketReceiver,
    maxMessageBytes: number,
    onSettled: (aborted: boolean) => void,
    onClosed: () => void,
  ) {
    super(meter, receiver, maxMessageBytes, onSettled)
    this.#client = client
    this.#socket = socket
    // Runs before the library, which may find a complete message in the data.
    socket.prependListener('data', ({ length }: Buffer) => this.#addPartial(length))
    client.on('message', (data, binary) => {
      this.#addPartial(-this.#partialBytes)
      this.receive(data as Buffer, binary)
    })
    for (const frame of ['ping', 'pong'] as const)
      client.on(frame, ({ length }) => this.#addPartial(-length - SHORT_HEAD_BYTES))
    client.on('error', (error: NodeJS.ErrnoException) => this.#failed(error))
    client.on('close', (code, reason) => {
      clearInterval(this.#watch)
      countBuffered(this.#partial, 0)
      this.closed(code, String(reason), code === ABNORMAL)
      onClosed()
    })
    socket.on('drain', () => this.drained())
    this.#watch = setInterval(() => this.#checkAlive(), SILENCE_MAX_MS).unref()
  }

  get bufferedBytes(): number {
    return this.#client.bufferedAmount
  }

  protected transmit(data: Uint8Array, binary: boolean): boolean {
    // Copied because the library buffers bytes that a slow client does not read.
    this.#client.send(Buffer.from(data), binary ? BINARY : TEXT)
    return false
  }

  protected cork(write: () => void): void {
    this.#socket.cork()
    write()
    this.#socket.uncork()
  }

  protected transmitClose(code: number, reason: string): void {
    if (code === NO_STATUS) this.#client.close()
    else this.#client.close(code, reason)
  }

  protected closeConnection(): void {
    this.#client.terminate()
  }

  protected pauseRead(): void {
    this.#client.pause()
  }

  protected resumeRead(): void {
    this.#client.resume()
  }

  /** Called after the library has closed the WebSocket with the same code. */
  #failed({ code = '' }: NodeJS.ErrnoException): void {
    // An error without a library code is a socket error, and `close` follows.
    if (!code.startsWith('WS_ERR')) return
    const [status, reason] = WS_ERRORS[code] ?? [PROTOCOL_ERROR, 'malformed frame']
    this.closed(status, reason, false)
  }

  #addPartial(bytes: number): void {
    this.#partialBytes = Math.max(0, this.#partialBytes + bytes)
    countBuffered(this.#partial, this.#partialBytes > PARTIAL_MIN_BYTES ? this.#partialBytes : 0)
  }

  #checkAlive(): void {
    const { bytesRead } = this.#socket
    if (this.paused || bytesRead !== this.#lastBytesRead) {
      this.#lastBytesRead = bytesRead
      this.#isPingPending = false
    } else if (this.#isPingPending) this.#client.terminate()
    else {
      this.#isPingPending = true
      this.#client.ping()
    }
  }
}

/**
 * Accepts a validated opening handshake and upgrades the connection to a WebSocket. Returns undefined if the client is
 * disconnecting.
 *
 * @param head bytes that the client sent after the handshake.
 */
export function openWebSocket(
  socket: Socket,
  head: Buffer,
  { key, protocol, headers, maxMessageBytes }: HandshakeResponse,
): WebSocket | undefined {
  const options: ServerOptions & { closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    closeTimeout: CLOSE_TIMEOUT_MS,
  }
  const server = new WebSocketServer(options)
  server.on('headers', (lines) => {
    const { flat } = headers
    for (let i = 0; i < flat.length; i += 2) lines.push(`${flat[i]}: ${toText(flat[i + 1]!)}`)
  })
  const fields: Record<string, string> = {
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
  }
  if (protocol !== '') fields['sec-websocket-protocol'] = protocol
  // The library only reads these properties of the request.
  const request = { method: 'GET', url: '/', headers: fields } as unknown as IncomingMessage
  let client: WebSocket | undefined
  server.handleUpgrade(request, socket, head, (opened) => {
    client = opened
  })
  return client
}

/** Converts a byte string to the header text of a library that writes UTF-8. */
function toText(value: string): string {
  return Buffer.from(value, 'latin1').toString()
}
