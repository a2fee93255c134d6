import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { ReplyReader } from './reply-reader.ts'
import type { Target } from './request.ts'

/** Reason why a request received no complete response. */
export type RequestFailure =
  | 'refused'
  | 'unreachable'
  | 'reset'
  | 'closed'
  | 'timeout'
  | 'malformed'

/** Callbacks of a connection. Exactly one is called per {@link Connection.send}. */
export interface ConnectionEvents {
  readonly onReply: (connection: Connection, reader: ReplyReader) => void
  readonly onFailure: (
    connection: Connection,
    failure: RequestFailure,
    error: Error | undefined,
  ) => void
}

const READ_BYTES = 32 * 1024

/** A client connection with one request at a time. It reconnects after the gateway has closed it. */
export class Connection {
  /** Times when the request in flight was due and when it was sent (`performance.now()`). */
  intendedMs = 0
  sentMs = 0
  /** True while a request is in flight. */
  busy = false
  /** Back-off after a failed connection: no request is sent before this time (`performance.now()`). */
  pausedUntilMs = 0
  bytesIn = 0
  readonly #target: Target
  readonly #events: ConnectionEvents
  readonly #reader: ReplyReader
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BYTES)
  #socket: Socket | undefined = undefined

  constructor(target: Target, events: ConnectionEvents) {
    this.#target = target
    this.#events = events
    this.#reader = new ReplyReader(target.method === 'HEAD')
  }

  /** Opens the connection before the first request. Rejects with the socket's error; the next request then retries. */
  open(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = this.#connect()
      const settle = (error?: Error) => {
        clearTimeout(timer)
        socket.off('error', settle).off('close', onClose)
        if (error === undefined) resolve()
        else reject(error)
      }
      const onClose = () => settle(new Error('connection closed by the server'))
      const timer = setTimeout(() => {
        this.close()
        settle(new Error(`no connection within ${timeoutMs} ms`))
      }, timeoutMs)
      socket.on('error', settle).on('close', onClose)
      socket.once(this.#target.secure ? 'secureConnect' : 'connect', () => settle())
    })
  }

  send(intendedMs: number): void {
    this.intendedMs = intendedMs
    this.sentMs = performance.now()
    this.busy = true
    this.#reader.reset()
    const socket = this.#socket ?? this.#connect()
    socket.write(this.#target.bytes)
  }

  /** Fails the request in flight with a timeout. */
  expire(): void {
    this.#fail('timeout', undefined)
  }

  /** Closes the connection without calling a callback. */
  close(): void {
    this.busy = false
    const socket = this.#socket
    this.#socket = undefined
    socket?.destroy()
  }

  #connect(): Socket {
    const { host, port, secure } = this.#target
    const onread = {
      buffer: this.#readBuffer,
      callback: (size: number) => this.#receive(socket, size),
    }
    // Load tests accept self-signed certificates.
    const tls = {
      host,
      port,
      onread,
      rejectUnauthorized: false,
      servername: isIP(host) === 0 ? host : '',
    }
    const socket: Socket = secure ? connectTls(tls) : connectTcp({ host, port, onread })
    socket.setNoDelay(true)
    this.#socket = socket
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (socket === this.#socket) this.#fail(toFailure(error), error)
    })
    socket.on('close', () => {
      if (socket !== this.#socket) return
      if (this.busy && this.#reader.end() === 'done') this.#finish(false)
      else this.#fail('closed', undefined)
    })
    return socket
  }

  #receive(socket: Socket, size: number): boolean {
    if (socket !== this.#socket) return true
    this.bytesIn += size
    const result = this.busy ? this.#reader.read(this.#readBuffer.subarray(0, size)) : 'malformed'
    if (result === 'done') this.#finish(this.#reader.keepAlive)
    else if (result === 'malformed') this.#fail('malformed', undefined)
    return true
  }

  #finish(keepAlive: boolean): void {
    this.busy = false
    if (!keepAlive) this.close()
    this.#events.onReply(this, this.#reader)
  }

  #fail(failure: RequestFailure, error: Error | undefined): void {
    const { busy } = this
    this.close()
    if (busy) this.#events.onFailure(this, failure, error)
  }
}

function toFailure(error: NodeJS.ErrnoException): RequestFailure {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'refused'
    case 'ECONNRESET':
    case 'EPIPE':
      return 'reset'
    case 'ETIMEDOUT':
      return 'timeout'
    default:
      return 'unreachable'
  }
}
