import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { formatError, type GatewayError } from '../../errors.ts'
import { HEADER_TIMEOUT_MS } from '../limits.ts'
import { readPeerAddress } from '../peer-addresses.ts'
import { toClientCertFields } from '../tls/client-cert.ts'
import { SERVICE_RESTART } from '../websocket/close-codes.ts'
import type { NodeExchange } from './exchange.ts'

/** Pipelined requests kept; what comes after them is left unanswered, and the connection is closed (RFC 9112 §9.3.2). */
const WAITING_MAX = 256
/** How long, and for how many bytes, a connection is read on after its last reply: a reset would take the reply with it (RFC 9112 §9.6). */
const LINGER_MS = 2000
const LINGER_MAX_BYTES = 1024 * 1024

/** One client connection on node:http: its requests are served one after the other, in order. */
export class NodeConnection {
  /** IP address of the other end; IPv4 also where it came as a mapped address. */
  readonly address: string
  /** Longest message of a WebSocket that ends in this process. */
  readonly maxMessageBytes: number
  /** What its requests say of the client's certificate, name, value, name, value… */
  readonly clientCert: readonly string[]
  readonly #socket: Socket
  readonly #handle: (x: NodeExchange) => void
  /** The longest time between two requests: the silence before the head, and the head. */
  readonly #idleMaxMs: number
  #current: NodeExchange | undefined = undefined
  #waiting: NodeExchange[] = []
  /** No request is taken any more: the next or present reply is the last. */
  #ending = false
  #draining = false
  /** Bytes received when the last exchange ended: more than these is the beginning of a request. */
  #bytesSeen: number
  /** `clock.nowMs` when the last exchange ended, or the connection began. */
  #idleSinceMs = clock.nowMs

  constructor(
    socket: Socket,
    handle: (x: NodeExchange) => void,
    maxMessageBytes: number,
    keepAliveMs: number,
  ) {
    this.#socket = socket
    this.#idleMaxMs = keepAliveMs + HEADER_TIMEOUT_MS
    this.maxMessageBytes = maxMessageBytes
    this.#handle = handle
    this.clientCert = toClientCertFields(socket)
    this.#bytesSeen = socket.bytesRead
    this.address = readPeerAddress(socket)
    // Every error is followed by `close`.
    socket.on('error', () => {})
    socket.once('close', () => this.#closed())
  }

  /** Whether a reply written now is the connection's last. */
  get leaving(): boolean {
    return (this.#ending || this.#draining) && this.#waiting.length === 0
  }

  /** Whether further requests are served. */
  get open(): boolean {
    return !this.#ending
  }

  /** Serves a request when those before it are done. */
  serve(x: NodeExchange): void {
    if (this.#ending) return
    if (this.#current === undefined) return this.#begin(x)
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(x)
    else this.#ending = true
  }

  /** Whether requests before this one are still served. */
  get busy(): boolean {
    return this.#current !== undefined
  }

  /** For the exchange: it is done. */
  finished(x: NodeExchange, closing: boolean): void {
    if (x !== this.#current) return
    this.#current = undefined
    this.#bytesSeen = this.#socket.bytesRead
    this.#idleSinceMs = clock.nowMs
    if (closing) {
      this.#ending = true
      this.#waiting = []
      return
    }
    const next = this.#waiting.shift()
    if (next !== undefined) this.#begin(next)
    else if (this.leaving) this.#socket.destroySoon()
  }

  /**
   * For the exchange, before its reply: the reply is the connection's last.
   *
   * @param unread whether request bytes may still come in.
   */
  lastReply(unread: boolean): void {
    this.#ending = true
    // node:http calls this when the reply is out. To close with bytes unread would reset the connection.
    if (unread) this.#socket.destroySoon = () => this.#linger()
  }

  /** What came in is no request: answers, unless a reply is under way, and closes. */
  refuse(error: GatewayError): void {
    if (this.#ending) return
    this.#ending = true
    const current = this.#current
    if (current !== undefined) {
      // Bytes after a complete request say nothing about that request: it is answered first.
      if (current.receiving) current.giveUp(error)
      return
    }
    const socket = this.#socket
    // One that never sent a byte asked for nothing: browsers keep such connections in reserve.
    if (!socket.writable || (error.code === 408 && !this.#midRequest)) {
      socket.destroy()
      return
    }
    socket.write(toRefusal(error))
    this.#linger()
  }

  /** Takes no more requests after those it has, or after the next one; closes at once when idle, unless it is to be kept. */
  drain(keepIdle = false): void {
    this.#draining = true
    if (!keepIdle && this.#current === undefined && !this.#midRequest) this.#socket.destroySoon()
  }

  /** Ends the connection in the middle of a reply. */
  cut(reset: boolean): void {
    this.#ending = true
    this.#waiting = []
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  /** Ends the connection for good: a WebSocket with a code, anything else at once. */
  end(): void {
    this.#ending = true
    this.#waiting = []
    if (!this.endTunnel()) this.#socket.destroy()
  }

  /** Ends a WebSocket with 1012. False when it is none. */
  endTunnel(): boolean {
    if (this.#current?.status !== 101) return false
    this.#current.closeWebSocket(SERVICE_RESTART, 'service restart')
    return true
  }

  /** For the listener, every now and then: closes an idle connection. The timer of node:http starts anew with every empty line, which is no request. */
  sweep(nowMs: number): void {
    if (this.#current === undefined && nowMs - this.#idleSinceMs > this.#idleMaxMs)
      this.#socket.destroy()
  }

  /** For the exchange: ends the connection when nothing moves on it for that long; 0: never. */
  watchStall(timeoutMs: number): void {
    this.#socket.setTimeout(timeoutMs)
  }

  #begin(x: NodeExchange): void {
    this.#current = x
    this.#handle(x)
    if (!x.finished) x.receiveBody()
  }

  /** Whether bytes of a request have come in that is not complete yet. */
  get #midRequest(): boolean {
    return this.#socket.bytesRead > this.#bytesSeen
  }

  /** Closes the sending side, and reads on for a while what the client still sends. */
  #linger(): void {
    const socket = this.#socket
    if (socket.destroyed) return
    const limit = socket.bytesRead + LINGER_MAX_BYTES
    const check = setInterval(() => socket.bytesRead > limit && socket.destroy(), 50).unref()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    socket.once('close', () => {
      clearInterval(check)
      clearTimeout(timer)
    })
    socket.end()
    socket.resume()
  }

  #closed(): void {
    this.#ending = true
    this.#waiting = []
    this.#current?.clientLeft()
  }
}

/** A reply for what never became a request. */
function toRefusal(error: GatewayError): string {
  const { type, body } = formatError(error, '')
  const fields = (error.headers ?? []).flatMap((name, i, flat) =>
    i % 2 === 0 ? [`${name}: ${flat[i + 1]}`] : [],
  )
  return [
    `HTTP/1.1 ${error.code} ${STATUS_CODES[error.code] ?? ''}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `date: ${new Date().toUTCString()}`,
    ...fields,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
