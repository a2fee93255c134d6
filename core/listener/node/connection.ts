import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { formatError, type GatewayError } from '../../errors.ts'
import { HEADER_TIMEOUT_MS } from '../limits.ts'
import { readPeerAddress } from '../peer-addresses.ts'
import { toClientCertFields } from '../tls/client-cert.ts'
import { SERVICE_RESTART } from '../websocket/close-codes.ts'
import type { NodeExchange } from './exchange.ts'

/** Maximum number of queued pipelined requests; later ones get no response, and the connection is closed (RFC 9112 §9.3.2). */
const WAITING_MAX = 256
/** How long, and for how many bytes, a connection is still read after its last response: a reset could discard the response (RFC 9112 §9.6). */
const LINGER_MS = 2000
const LINGER_MAX_BYTES = 1024 * 1024

/** A client connection on node:http: its requests are served sequentially. */
export class NodeConnection {
  /** Peer IP address; a mapped address as IPv4. */
  readonly address: string
  /** Longest message of an accepted WebSocket. */
  readonly maxMessageBytes: number
  /** Headers with the client certificate: name, value, name, value… */
  readonly clientCert: readonly string[]
  readonly #socket: Socket
  readonly #handle: (x: NodeExchange) => void
  /** Time limit between two requests: idle time and head. */
  readonly #idleMaxMs: number
  #current: NodeExchange | undefined = undefined
  #waiting: NodeExchange[] = []
  /** No further request is accepted: the next or current response is the last. */
  #ending = false
  #draining = false
  /** Bytes received when the last exchange ended: any more belong to the next request. */
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

  /** Whether a response written now is the last of the connection. */
  get leaving(): boolean {
    return (this.#ending || this.#draining) && this.#waiting.length === 0
  }

  /** Whether further requests are served. */
  get open(): boolean {
    return !this.#ending
  }

  /** Serves a request after the requests before it. */
  serve(x: NodeExchange): void {
    if (this.#ending) return
    if (this.#current === undefined) return this.#begin(x)
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(x)
    else this.#ending = true
  }

  /** Whether earlier requests are still in flight. */
  get busy(): boolean {
    return this.#current !== undefined
  }

  /** For the exchange: it has ended. */
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
   * For the exchange, before its response: the response is the last of the connection.
   *
   * @param unread whether request bytes may still arrive.
   */
  lastReply(unread: boolean): void {
    this.#ending = true
    // node:http calls this when the response was written. Closing with unread bytes would reset the connection.
    if (unread) this.#socket.destroySoon = () => this.#linger()
  }

  /** For bytes that are not a request: sends an error, unless a response is in flight, and closes. */
  reject(error: GatewayError): void {
    if (this.#ending) return
    this.#ending = true
    const current = this.#current
    if (current !== undefined) {
      // Bytes after a complete request do not concern it: its response is sent first.
      if (current.receiving) current.giveUp(error)
      return
    }
    const socket = this.#socket
    // No response to a connection without a byte: browsers open such connections speculatively.
    if (!socket.writable || (error.code === 408 && !this.#midRequest)) {
      socket.destroy()
      return
    }
    socket.write(formatErrorResponse(error))
    this.#linger()
  }

  /** Accepts no more requests after the queued ones, or after the next one; closes an idle connection at once, unless it is to stay open. */
  drain(keepIdle = false): void {
    this.#draining = true
    if (!keepIdle && this.#current === undefined && !this.#midRequest) this.#socket.destroySoon()
  }

  /** Ends the connection in the middle of a response. */
  cut(reset: boolean): void {
    this.#ending = true
    this.#waiting = []
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  /** Ends the connection: a WebSocket with a code, anything else at once. */
  end(): void {
    this.#ending = true
    this.#waiting = []
    if (!this.endTunnel()) this.#socket.destroy()
  }

  /** Ends a WebSocket with 1012. False when it is not a WebSocket. */
  endTunnel(): boolean {
    if (this.#current?.status !== 101) return false
    this.#current.closeWebSocket(SERVICE_RESTART, 'service restart')
    return true
  }

  /** For the listener, periodically: closes an idle connection. The timer of node:http restarts with every empty line, which is not a request. */
  sweep(nowMs: number): void {
    if (this.#current === undefined && nowMs - this.#idleSinceMs > this.#idleMaxMs)
      this.#socket.destroy()
  }

  /** For the exchange: sets the idle timeout of the connection; 0 if none. */
  watchStall(timeoutMs: number): void {
    this.#socket.setTimeout(timeoutMs)
  }

  #begin(x: NodeExchange): void {
    this.#current = x
    this.#handle(x)
    if (!x.finished) x.receiveBody()
  }

  /** Whether bytes of an incomplete request have arrived. */
  get #midRequest(): boolean {
    return this.#socket.bytesRead > this.#bytesSeen
  }

  /** Closes the sending side, and keeps reading for a while. */
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

/** Formats the response to bytes that are not a request. */
function formatErrorResponse(error: GatewayError): string {
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
