import { type IncomingMessage, ServerResponse } from 'node:http'
import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { Exchange } from '../../exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { LONG_REPLY_BYTES } from '../../limits/memory-budget.ts'
import type { Peer } from '../../request/incoming-request.ts'
import { STALL_TIMEOUT_MS } from '../limits.ts'
import type { RequestValidator } from '../request-validator.ts'
import { uploads, type WatchedUpload } from '../upload-watchdog.ts'
import { INTERNAL_ERROR } from '../websocket/close-codes.ts'
import { chooseProtocol, upgradeRequired } from '../websocket/handshake.ts'
import {
  type AcceptOptions,
  MESSAGE_MAX_BYTES,
  type ServerSocket,
  type SocketReceiver,
} from '../websocket/session.ts'
import type { TunnelStream } from '../websocket/tunnel-stream.ts'
import type { TunnelTarget } from '../websocket/tunnel-target.ts'
import { NodeAcceptedSocket, openWebSocket } from './accepted-socket.ts'
import type { NodeConnection } from './connection.ts'
import { openTunnel } from './tunnel.ts'

const EMPTY = new Uint8Array(0)

export interface NodeRequest {
  readonly req: IncomingMessage
  /** Response created by node:http; undefined for an upgrade, where node:http hands over the socket. */
  readonly res: ServerResponse | undefined
  readonly path: string
  readonly query: string
  readonly secure: boolean
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expecting: boolean
  /** The client side of a WebSocket. */
  readonly stream: TunnelStream | undefined
}

/** A request on node:http. */
export class NodeExchange extends Exchange implements WatchedUpload {
  readonly #connection: NodeConnection
  readonly #req: IncomingMessage
  readonly #stream: TunnelStream | undefined
  /** The WebSocket, if this process accepted it. */
  #socket: NodeAcceptedSocket | undefined = undefined
  #res: ServerResponse | undefined
  #expecting: boolean
  /** Body length announced to the client, in bytes; -1 if unknown. */
  #length = -1
  /** Whether the request body is being read, and not paused by its consumer. */
  #reading = false
  /** Whether the client currently does not read the response. */
  #blocked = false

  constructor(
    connection: NodeConnection,
    request: NodeRequest,
    guard: RequestValidator,
    malformed: GatewayError | undefined,
  ) {
    const { req, res, path, query, secure, expecting, stream } = request
    const { host, headers, bodyLength } = guard
    super(req.method ?? '', path, query, host, headers, secure, bodyLength, stream !== undefined)
    this.#connection = connection
    this.#req = req
    this.#res = res
    this.#stream = stream
    this.#expecting = expecting
    this.malformed = malformed
    this.closing = malformed !== undefined
    if (res !== undefined) this.#listen(res)
  }

  get isDone(): boolean {
    return this.finished || this.bodyDone
  }

  get isAwaited(): boolean {
    return this.#reading && !this.#expecting && !this.allowsIdleBody
  }

  get remoteAddress(): string {
    return this.#connection.address
  }

  /** Whether the request body is incomplete. Used by the connection. */
  get receiving(): boolean {
    return !this.bodyDone
  }

  /** Starts reading the body. Called by the connection once the request is served. */
  receiveBody(): void {
    if (this.bodyDone || this.malformed !== undefined) return
    const req = this.#req
    req.on('data', (chunk: Buffer) => {
      this.receive(chunk, this.bytesIn + chunk.length === this.bodyLength)
      if (this.bodyDone) uploads.unwatch(this)
    })
    req.on('end', () => {
      this.receive(EMPTY, true)
      uploads.unwatch(this)
    })
    this.#reading = true
    // Watched from the head on, because chunk sizes, extensions and trailers are socket bytes but not progress.
    uploads.watch(this)
  }

  /** Called by the connection when it has ended. */
  onClientDisconnected(): void {
    // The WebSocket is notified as well and may still deliver messages.
    if (this.#socket !== undefined) return
    const stream = this.#stream
    if (stream === undefined || this.status !== 101) return this.abort()
    this.bytesIn = stream.bytesIn
    this.bytesOut = stream.bytesOut
    this.aborted = !stream.agreed
    this.finish()
  }

  /** Ends the WebSocket with this code. Called by the connection. */
  closeWebSocket(code: number, reason: string): void {
    if (this.#socket !== undefined) this.#socket.close(code, reason)
    else this.#stream?.closeWith(code, reason)
  }

  override pipeTo(peer: Peer): void {
    // Only when the body is read, so that clients do not upload bodies of rejected requests.
    if (this.#expecting && !this.answered) {
      this.#expecting = false
      this.#res?.writeContinue()
    }
    super.pipeTo(peer)
  }

  async tunnel(target: TunnelTarget): Promise<void> {
    const stream = this.#stream
    if (stream === undefined) throw upgradeRequired()
    if (this.#connection.leaving) throw new GatewayError(GATEWAY_ID, 503, 'shutting down')
    await openTunnel(this, stream, target)
  }

  accept(receiver: SocketReceiver, options: AcceptOptions = {}): ServerSocket | undefined {
    if (this.answered) return undefined
    const stream = this.#stream
    if (stream === undefined) throw upgradeRequired()
    if (this.#connection.leaving) throw new GatewayError(GATEWAY_ID, 503, 'shutting down')
    const protocol = chooseProtocol(this.headers, options.protocol)
    if (!this.acceptTunnel(options.headers ?? new HeaderList())) return undefined
    const { socket } = this.#req
    const limit = options.maxMessageBytes ?? MESSAGE_MAX_BYTES
    const maxMessageBytes = Math.min(limit, this.#connection.maxMessageBytes)
    const key = this.headers.get('sec-websocket-key')!
    const handshake = { key, protocol, headers: this.replyHeaders, maxMessageBytes }
    const client = openWebSocket(socket, stream.release(), handshake)
    if (client === undefined) return undefined
    this.#socket = new NodeAcceptedSocket(
      client,
      socket,
      this,
      receiver,
      maxMessageBytes,
      (aborted) => {
        this.aborted = aborted
      },
      () => this.finish(),
    )
    return this.#socket
  }

  /**
   * Responds to the handshake with 101. Returns false if an `onReply` hook failed or set another status, which was sent
   * instead.
   */
  acceptTunnel(headers: HeaderList): boolean {
    this.startWebSocket(headers)
    if (this.status === 101) return true
    this.end()
    return false
  }

  protected override finish(): void {
    if (this.finished) return
    super.finish()
    if (!this.bodyDone) {
      uploads.unwatch(this)
      // The rest of a rejected body is read and discarded until the client has read the response.
      this.#req.resume()
    }
    this.#connection.finished(this, this.closing)
  }

  protected transmit(body: string | Uint8Array): void {
    // Always bytes, because node:http would encode a head with text as UTF-8. Copied, because the next read overwrites
    // the memory of an upstream response while the socket buffers bytes that a slow client does not read.
    const bytes = Buffer.from(body as Uint8Array)
    const res = this.#writeHead(this.status === 204 || this.status === 304 ? -1 : bytes.length)
    if (this.#isBodyless()) {
      res.end()
      return
    }
    this.bytesOut = bytes.length
    if (bytes.length > LONG_REPLY_BYTES) this.awaitClient(bytes.length)
    res.end(bytes)
    this.#blocked = res.writableLength > 0
    this.#watchStall()
  }

  protected transmitHead(length: number): void {
    // The tunnel writes the response head of an accepted WebSocket itself.
    if (this.status === 101) return
    this.#length = length
    const res = this.#writeHead(this.status === 204 ? -1 : length)
    if (this.#isBodyless()) {
      res.end()
      return
    }
    // `flushHeaders` is unsuitable: it writes header values above 0x7F as UTF-8.
    res.write(EMPTY)
    res.on('drain', () => {
      this.#blocked = false
      this.#watchStall()
      this.drained()
    })
  }

  protected transmitChunk(chunk: Uint8Array): boolean {
    const res = this.#res
    if (res === undefined || this.#isBodyless()) return true
    if (this.#length >= 0 && this.bytesOut > this.#length) {
      this.closeConnection()
      return true
    }
    if (res.write(Buffer.from(chunk))) return true
    this.#blocked = true
    this.#watchStall()
    return false
  }

  protected transmitEnd(): void {
    if (this.#isBodyless()) return
    // A response shorter than its announced length must not appear complete, nor be completed by the next response.
    if (this.#length >= 0 && this.bytesOut < this.#length) return this.closeConnection()
    this.#res?.end()
  }

  protected closeConnection(code: number = INTERNAL_ERROR, reason = 'internal error'): void {
    if (this.status === 101) return this.closeWebSocket(code, reason)
    // In HTTP/1.0, only a reset marks a response of unknown length as incomplete.
    this.#connection.closeAbruptly(this.#req.httpVersionMinor === 0)
    this.abort()
  }

  protected pauseRead(): void {
    this.#reading = false
    this.#req.pause()
  }

  protected resumeRead(): void {
    this.#reading = true
    this.#req.resume()
  }

  /** Limits how long the client may stop reading the response. */
  #watchStall(): void {
    if (!this.finished) this.#connection.watchStall(this.#blocked ? STALL_TIMEOUT_MS : 0)
  }

  #isBodyless(): boolean {
    return this.method === 'HEAD' || this.status === 204 || this.status === 304
  }

  #listen(res: ServerResponse): void {
    res.on('finish', () => this.finish())
    // An error of the socket is followed by `close`, which is handled.
    res.on('error', () => {})
  }

  #writeHead(length: number): ServerResponse {
    this.#res ??= this.#takeSocket()
    const res = this.#res
    const { flat } = this.replyHeaders
    const fields = length < 0 ? flat : [...flat, 'content-length', String(length)]
    // In HTTP/1.0, only closing the connection ends a response of unknown length.
    this.closing ||= this.#connection.leaving || (length < 0 && this.#req.httpVersionMinor === 0)
    if (this.closing) res.shouldKeepAlive = false
    else this.closing = !res.shouldKeepAlive
    if (this.closing) this.#connection.lastReply(!this.bodyDone)
    res.writeHead(this.status, fields as string[])
    return res
  }

  /** Prepares a regular response to an upgrade request. The connection ends with the response. */
  #takeSocket(): ServerResponse {
    const res = new ServerResponse(this.#req)
    this.closing = true
    res.assignSocket(this.#req.socket)
    // node:http only does this for sockets that it still owns.
    this.#req.socket.on('drain', () => res.emit('drain'))
    this.#listen(res)
    return res
  }
}
