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

/** How often is looked whether a client gave a sign of life: it is asked for one after the first silence, given up after the second. */
const SILENCE_MAX_MS = 30_000
/** How long a client may take to accept the close frame. */
const CLOSE_TIMEOUT_MS = 10_000

/** Bytes of an incomplete message that are not counted: most messages come in one piece. */
const PARTIAL_MIN_BYTES = 64 * 1024
/** Of a frame of a client whose payload is shorter than 126 bytes, as of pings (RFC 6455 §5.2, §5.5). */
const SHORT_HEAD_BYTES = 6

const TEXT = { binary: false } as const
const BINARY = { binary: true } as const

/** What an opening handshake is answered with. */
export interface HandshakeAnswer {
  /** The client's `Sec-WebSocket-Key`. */
  readonly key: string
  /** Subprotocol; empty: none. */
  readonly protocol: string
  readonly headers: HeaderList
  readonly maxMessageBytes: number
}

/** A client's WebSocket on node:http that ends in this process. */
export class NodeAcceptedSocket extends AcceptedSocket {
  readonly #client: WebSocket
  readonly #socket: Socket
  readonly #watch: NodeJS.Timeout
  #bytesSeen = 0
  #asked = false
  /** Bytes received since the last complete message, which the library holds until the next one is complete. */
  #partialBytes = 0
  readonly #partial: RequestBuffer = {
    bufferedBytes: 0,
    isCuttable: true,
    // A close frame would leave them in memory until the client answers it.
    cutBuffered: () => this.cut(),
  }

  /** @param onClosed called once, when the connection has ended: after `onSettled`. */
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
    // In front of the library, which may find a complete message in it.
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
    this.#watch = setInterval(() => this.#lookForLife(), SILENCE_MAX_MS).unref()
  }

  get bufferedBytes(): number {
    return this.#client.bufferedAmount
  }

  protected transmit(data: Uint8Array, binary: boolean): boolean {
    // A copy: the library keeps what a slow client does not take.
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

  protected cut(): void {
    this.#client.terminate()
  }

  protected pauseRead(): void {
    this.#client.pause()
  }

  protected resumeRead(): void {
    this.#client.resume()
  }

  /** The library has closed the WebSocket itself, with the same code. */
  #failed({ code = '' }: NodeJS.ErrnoException): void {
    // Without a code of the library it is the socket's error, and `close` follows.
    if (!code.startsWith('WS_ERR')) return
    const [status, reason] = WS_ERRORS[code] ?? [PROTOCOL_ERROR, 'malformed frame']
    this.closed(status, reason, false)
  }

  #addPartial(bytes: number): void {
    this.#partialBytes = Math.max(0, this.#partialBytes + bytes)
    countBuffered(this.#partial, this.#partialBytes > PARTIAL_MIN_BYTES ? this.#partialBytes : 0)
  }

  #lookForLife(): void {
    const { bytesRead } = this.#socket
    if (this.paused || bytesRead !== this.#bytesSeen) {
      this.#bytesSeen = bytesRead
      this.#asked = false
    } else if (this.#asked) this.#client.terminate()
    else {
      this.#asked = true
      this.#client.ping()
    }
  }
}

/**
 * Answers an opening handshake that was judged before, and makes the connection a WebSocket.
 * Undefined when the client has begun to leave.
 *
 * @param head what the client has sent behind its handshake.
 */
export function openWebSocket(
  socket: Socket,
  head: Buffer,
  { key, protocol, headers, maxMessageBytes }: HandshakeAnswer,
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
  // The library reads these of the request, and no more.
  const request = { method: 'GET', url: '/', headers: fields } as unknown as IncomingMessage
  let client: WebSocket | undefined
  server.handleUpgrade(request, socket, head, (opened) => {
    client = opened
  })
  return client
}

/** A header value, which is a string of bytes, for a library that writes UTF-8. */
function toText(value: string): string {
  return Buffer.from(value, 'latin1').toString()
}
