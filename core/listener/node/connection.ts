import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { formatError, type GatewayError } from '../../errors.ts'
import { HEADER_TIMEOUT_MS } from '../limits.ts'
import { readPeerAddress } from '../peer-addresses.ts'
import { toClientCertFields } from '../tls/client-cert.ts'
import { SERVICE_RESTART } from '../websocket/close-codes.ts'
import type { NodeExchange } from './exchange.ts'

/**
 * Maximum number of queued pipelined requests. Further requests get no response, and the connection is closed (RFC 9112
 * §9.3.2).
 */
const WAITING_MAX = 256
/**
 * Limits, in time and bytes, for reading from a connection after its last response; a reset could discard the response
 * (RFC 9112 §9.6).
 */
const LINGER_MS = 2000
const LINGER_MAX_BYTES = 1024 * 1024

/** A client connection on node:http. Its requests are served sequentially. */
export class NodeConnection {
  /** Peer IP address; IPv4-mapped addresses as IPv4. */
  readonly address: string
  /** Maximum message size of accepted WebSockets. */
  readonly maxMessageBytes: number
  /** Headers with the client certificate: name, value, name, value… */
  readonly clientCert: readonly string[]
  readonly #socket: Socket
  readonly #handle: (x: NodeExchange) => void
  /** Time limit between two requests: idle time plus head. */
  readonly #idleMaxMs: number
  #current: NodeExchange | undefined = undefined
  #waiting: NodeExchange[] = []
  /** Whether the current or next response is the last; no further requests are accepted. */
  #ending = false
  #draining = false
  /** Number of bytes received when the last exchange ended. Further bytes belong to the next request. */
  #lastBytesRead: number
  /** `clock.nowMs` when the last exchange ended, or when the connection was opened. */
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
    this.#lastBytesRead = socket.bytesRead
    this.address = readPeerAddress(socket)
    // Every error is followed by `close`.
    socket.on('error', () => {})
    socket.once('close', () => this.#closed())
  }

  /** Whether a response written now is the last on the connection. */
  get leaving(): boolean {
    return (this.#ending || this.#draining) && this.#waiting.length === 0
  }

  /** Whether further requests are served. */
  get open(): boolean {
    return !this.#ending
  }

  /** Serves a request after all earlier requests. */
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

  /** Called by the exchange when it has ended. */
  finished(x: NodeExchange, closing: boolean): void {
    if (x !== this.#current) return
    this.#current = undefined
    this.#lastBytesRead = this.#socket.bytesRead
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
   * Marks the response as the last on the connection. Called by the exchange before it responds.
   *
   * @param unread whether request bytes may still arrive.
   */
  lastReply(unread: boolean): void {
    this.#ending = true
    // node:http calls this after writing the response. Closing with unread bytes would reset the connection.
    if (unread) this.#socket.destroySoon = () => this.#linger()
  }

  /** Rejects bytes that are not a request: sends an error, unless a response is in flight, and closes. */
  reject(error: GatewayError): void {
    if (this.#ending) return
    this.#ending = true
    const current = this.#current
    if (current !== undefined) {
      // Bytes after a complete request do not affect it; its response is sent first.
      if (current.receiving) current.abortWith(error)
      return
    }
    const socket = this.#socket
    // No response to a connection that sent no bytes, since browsers open such connections speculatively.
    if (!socket.writable || (error.code === 408 && !this.#midRequest)) {
      socket.destroy()
      return
    }
    socket.write(formatErrorResponse(error))
    this.#linger()
  }

  /**
   * Stops accepting requests after the queued ones, or after the next one. Immediately closes an idle connection unless
   * `keepIdle` is set.
   */
  drain(keepIdle = false): void {
    this.#draining = true
    if (!keepIdle && this.#current === undefined && !this.#midRequest) this.#socket.destroySoon()
  }

  /** Ends the connection during a response. */
  closeAbruptly(reset: boolean): void {
    this.#ending = true
    this.#waiting = []
    if (reset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  /** Ends the connection: a WebSocket with a close code, any other connection immediately. */
  end(): void {
    this.#ending = true
    this.#waiting = []
    if (!this.endTunnel()) this.#socket.destroy()
  }

  /** Ends a WebSocket with 1012. Returns false if the connection is not a WebSocket. */
  endTunnel(): boolean {
    if (this.#current?.status !== 101) return false
    this.#current.closeWebSocket(SERVICE_RESTART, 'service restart')
    return true
  }

  /**
   * Closes an idle connection. Called periodically by the listener, since the node:http timer restarts with every empty
   * line, which is not a request.
   */
  sweep(nowMs: number): void {
    if (this.#current === undefined && nowMs - this.#idleSinceMs > this.#idleMaxMs)
      this.#socket.destroy()
  }

  /** Sets the idle timeout of the connection; 0 disables it. Called by the exchange. */
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
    return this.#socket.bytesRead > this.#lastBytesRead
  }

  /** Closes the sending side and continues reading for a limited time. */
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
    this.#current?.onClientDisconnected()
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
