// One file, though long: connections, and the calls that wait for one, share their state.

import { isIPv6, type LookupFunction, type Socket } from 'node:net'
import type { ClientOptions } from 'ws'
import { WebSocket } from '../../../lib/net/ws.ts'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { toConnectDetail } from '../../upstream/connect-error.ts'
import type { Carrier, OutgoingCall } from '../call.ts'
import { deadlines } from '../deadlines.ts'
import { ClientConnection, type ClientOwner } from './client-connection.ts'
import { MESSAGE_MAX_BYTES, PAYLOAD_MAX_BYTES, RPC_PATH, SUBPROTOCOL } from './frames.ts'
import { WsSocket } from './ws-socket.ts'

export interface ChannelOptions {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS. @default false */
  readonly secure?: boolean
  /** Resolves the host name. @default the resolver of the system */
  readonly lookup?: LookupFunction | undefined
  /** Certificates to trust in place of the system's, PEM. */
  readonly ca?: string
  /** @default '/.mx/rpc' */
  readonly path?: string
  /** Connections to keep while there are calls for them. @default 1 */
  readonly connections?: number
  /** Milliseconds for a connection, TLS and WebSocket handshakes included. @default 5000 */
  readonly connectTimeoutMs?: number
  /** Calls that may wait for a connection. @default 10000 */
  readonly maxWaiting?: number
  /** Calls that may be under way on a connection. @default 100000 */
  readonly maxCalls?: number
  /** Milliseconds of silence, with calls under way, before a ping; after twice as many the connection is given up. @default 15000 */
  readonly pingAfterMs?: number
  /** Whether the process may end while calls are under way. @default false */
  readonly background?: boolean
}

/** How long a node may take to close a connection after both close frames. */
const CLOSE_TIMEOUT_MS = 10_000
/** Silence after which the kernel asks a node's host whether it is still there. */
const KEEP_ALIVE_MS = 30_000
/** How long another connection, beside one that works, is not tried again after a failure. */
const RETRY_MS = 1000
/** How often silent connections are looked at before one is given up. */
const LOOKS = 3

/** An open connection and what is below it. */
interface Line {
  readonly connection: ClientConnection
  readonly socket: WebSocket
  readonly tcp: Socket
  /** Looks at it since it fell silent. */
  silentLooks: number
  /** Bytes that had come, and that waited to be sent, at the last look. */
  bytesRead: number
  bytesWaiting: number
}

/**
 * The connections to one node (docs/protocol.md §2), opened when there are calls for them.
 *
 * A connection that cannot be made fails the calls that wait for it; only another call makes the
 * channel try again. Whether to go on asking a node that fails is the caller's to judge.
 */
export class Channel implements Carrier {
  readonly #options: ChannelOptions
  readonly #address: string
  // Of the options, what every call asks for.
  readonly #connections: number
  readonly #maxCalls: number
  readonly #background: boolean
  /** Those that take calls. */
  #open: Line[] = []
  /** Those that take no more, and still have some. */
  readonly #retired = new Map<ClientConnection, Line>()
  readonly #connecting = new Set<WebSocket>()
  readonly #waiting = new Set<OutgoingCall>()
  #next = 0
  /** `clock.nowMs` before which no further connection is tried. */
  #retryMs = 0
  #sweeper: NodeJS.Timeout | undefined = undefined
  #closed = false
  readonly #owner: ClientOwner = {
    onRetired: (connection) => this.#retire(connection),
    onUnsent: (call) => this.#again(call),
    onIdle: (connection) => this.#idle(connection),
    onClosed: (connection) => this.#gone(connection),
  }

  constructor(options: ChannelOptions) {
    const { host, port, connections = 1, maxCalls = 100_000, background = false } = options
    this.#options = options
    this.#address = `${isIPv6(host) ? `[${host}]` : host}:${port}`
    this.#connections = connections
    this.#maxCalls = maxCalls
    this.#background = background
  }

  /** Calls under way, and those that wait for a connection. */
  get pending(): number {
    let pending = this.#waiting.size
    for (const { connection } of this.#open) pending += connection.pending
    for (const connection of this.#retired.keys()) pending += connection.pending
    return pending
  }

  /** Whether there is a connection that takes calls. */
  get connected(): boolean {
    return this.#open.length > 0
  }

  /** Sends a call, as soon as there is a connection. One that cannot be sent may be told so before the method returns. */
  call(call: OutgoingCall): void {
    call.resent = false
    call.halfClosed = false
    this.#dispatch(call)
  }
  /** Takes no more calls; closes the connections once those under way are over. */
  drain(): void {
    this.#closed = true
    if (this.pending === 0) this.close()
  }

  /** Closes all connections. Calls under way are lost. */
  close(): void {
    this.#closed = true
    this.#failWaiting('the channel was closed')
    for (const socket of this.#connecting) socket.terminate()
    const lines = [...this.#open, ...this.#retired.values()]
    for (const { connection } of lines) connection.close('the channel was closed')
  }

  // For calls that wait for a connection

  sendData(call: OutgoingCall): boolean {
    call.held = true
    return false
  }

  endData(call: OutgoingCall): void {
    call.halfClosed = true
  }

  consumed(): void {}

  cancel(call: OutgoingCall): void {
    this.#waiting.delete(call)
    call.release()
    if (this.#closed && this.pending === 0) this.close()
  }

  expire(call: OutgoingCall): void {
    this.cancel(call)
    call.onLost('timeout', `no connection to ${this.#address} within ${call.timeoutMs} ms`)
  }

  #dispatch(call: OutgoingCall): void {
    const line = this.#pick()
    if (line === undefined) this.#wait(call)
    else this.#send(line, call)
  }

  #pick(): Line | undefined {
    if (this.#closed) return undefined
    const open = this.#open
    if (open.length < this.#connections) this.#grow()
    if (open.length <= 1) return open[0]
    this.#next = (this.#next + 1) % open.length
    return open[this.#next]
  }

  /** Opens one more beside those there are; the first one is opened by the calls that wait for it. */
  #grow(): void {
    const open = this.#open.length
    if (open === 0 || open + this.#connecting.size >= this.#connections) return
    if (clock.nowMs >= this.#retryMs) this.#connect()
  }

  #send({ connection, tcp }: Line, call: OutgoingCall): void {
    const { pending } = connection
    if (pending >= this.#maxCalls) {
      call.release()
      call.onLost('full', `too many calls of ${this.#address} are under way`)
      return
    }
    connection.call(call)
    // A connection without calls keeps no process alive.
    if (pending === 0 && connection.pending > 0 && !this.#background) tcp.ref()
  }

  #wait(call: OutgoingCall): void {
    const refusal = this.#closed
      ? 'connect'
      : this.#waiting.size >= (this.#options.maxWaiting ?? 10_000)
        ? 'full'
        : undefined
    if (refusal !== undefined) {
      call.release()
      const detail = refusal === 'full' ? 'too many calls wait' : 'the channel was closed'
      call.onLost(refusal, detail)
      return
    }
    call.carrier = this
    if (call.timeoutMs > 0 && call.timedNext === undefined) deadlines.add(call, call.timeoutMs)
    this.#waiting.add(call)
    if (this.#connecting.size === 0) this.#connect()
  }

  #connect(): void {
    const { secure = false, path = RPC_PATH, ca, lookup, connectTimeoutMs = 5000 } = this.#options
    const options: ClientOptions & { closeTimeout: number } = {
      perMessageDeflate: false,
      skipUTF8Validation: true,
      maxPayload: MESSAGE_MAX_BYTES,
      closeTimeout: CLOSE_TIMEOUT_MS,
      // A key of zero: the library then leaves messages as they are (docs/protocol.md §2.1).
      generateMask: (mask) => mask.fill(0),
      ...(ca === undefined ? {} : { ca }),
      ...(lookup && { lookup }),
    }
    const scheme = secure ? 'wss' : 'ws'
    const socket = new WebSocket(`${scheme}://${this.#address}${path}`, [SUBPROTOCOL], options)
    this.#connecting.add(socket)
    let tcp: Socket | undefined
    let fault = ''
    let isForeign = false
    const timer = setTimeout(() => {
      fault = `no answer within ${connectTimeoutMs} ms`
      socket.terminate()
    }, connectTimeoutMs)
    const onError = (error: Error): void => {
      // The first one: what follows from it says less.
      fault ||= toConnectDetail(error)
      // What is no HTTP, and what upgrades to something else.
      isForeign ||=
        tcp !== undefined || (error as NodeJS.ErrnoException).code?.startsWith('HPE_') === true
    }
    const onClose = (): void => {
      clearTimeout(timer)
      this.#connecting.delete(socket)
      this.#failed(`no connection to ${this.#address}: ${fault}`, isForeign ? 'foreign' : 'connect')
    }
    socket.on('error', onError)
    socket.on('close', onClose)
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
      fault ||= `it answered ${statusCode} in place of a WebSocket`
      // 501 is what servers of few methods say to a GET; other errors of a server may pass.
      isForeign ||= statusCode < 500 || statusCode === 501
      socket.terminate()
    })
    socket.on('upgrade', (reply) => {
      tcp = reply.socket
      tcp.setKeepAlive(true, KEEP_ALIVE_MS)
    })
    socket.on('open', () => {
      clearTimeout(timer)
      socket.off('error', onError)
      socket.off('close', onClose)
      this.#connecting.delete(socket)
      this.#opened(socket, tcp!)
    })
  }

  #opened(socket: WebSocket, tcp: Socket): void {
    const receiver = {
      onMessage: (data: Uint8Array, binary: boolean) => connection.onMessage(data, binary),
      onDrain: () => connection.onDrain(),
      onClose: (code: number, reason: string) => connection.onClose(code, reason),
    }
    const connection: ClientConnection = new ClientConnection(
      new WsSocket(socket, receiver),
      this.#owner,
      PAYLOAD_MAX_BYTES,
    )
    const heard = () => {
      connection.lastSeenMs = clock.nowMs
    }
    socket.on('ping', heard)
    socket.on('pong', heard)
    const line: Line = { connection, socket, tcp, silentLooks: 0, bytesRead: 0, bytesWaiting: 0 }
    if (this.#closed && this.#waiting.size === 0) return connection.close('the channel was closed')
    this.#open.push(line)
    const { pingAfterMs = 15_000 } = this.#options
    this.#sweeper ??= setInterval(() => this.#sweep(pingAfterMs), pingAfterMs / LOOKS).unref()
    tcp.unref()
    this.#sendWaiting(line)
  }

  #sendWaiting(line: Line): void {
    const calls = [...this.#waiting]
    for (const call of calls) {
      // One of those before may have cancelled it, or retired the connection.
      if (!this.#waiting.delete(call)) continue
      if (line.connection.retired || line.connection.closed) {
        this.#dispatch(call)
        continue
      }
      const { held } = call
      this.#send(line, call)
      if (held && call.carrier === line.connection) call.onCredit()
    }
  }

  #failed(detail: string, kind: 'connect' | 'foreign'): void {
    this.#retryMs = clock.nowMs + RETRY_MS
    if (this.#open.length === 0 && this.#connecting.size === 0) this.#failWaiting(detail, kind)
  }

  #failWaiting(detail: string, kind: 'connect' | 'foreign' = 'connect'): void {
    const calls = [...this.#waiting]
    for (const call of calls) {
      if (!this.#waiting.delete(call)) continue
      call.release()
      call.onLost(kind, detail)
    }
  }

  #retire(connection: ClientConnection): void {
    const line = this.#open.find((open) => open.connection === connection)
    if (line === undefined) return
    this.#open = this.#open.filter((open) => open !== line)
    this.#retired.set(connection, line)
  }

  /** Once more, and not for ever: a node may turn every connection away. */
  #again(call: OutgoingCall): void {
    if (!call.resent && !this.#closed) {
      call.resent = true
      call.id = 0
      this.#dispatch(call)
      return
    }
    call.release()
    call.onLost('unsent', `${this.#address} takes no more calls`)
  }

  #idle(connection: ClientConnection): void {
    for (const line of this.#open) if (line.connection === connection) line.tcp.unref()
    if (this.#closed && this.pending === 0) this.close()
  }

  #gone(connection: ClientConnection): void {
    this.#open = this.#open.filter((line) => line.connection !== connection)
    this.#retired.delete(connection)
    if (this.#open.length > 0 || this.#retired.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Looks for connections that have died without a word. */
  #sweep(pingAfterMs: number): void {
    for (const line of [...this.#open, ...this.#retired.values()]) {
      const { connection, socket } = line
      // A long message comes, or leaves, for longer than a ping may take that stands behind it.
      if (hasMoved(line)) connection.lastSeenMs = clock.nowMs
      if (connection.pending === 0 || clock.nowMs - connection.lastSeenMs < pingAfterMs) {
        line.silentLooks = 0
        continue
      }
      // Looks are counted, not time: after a stall of this process what has come is yet to be read.
      if (++line.silentLooks <= LOOKS) {
        socket.ping()
        continue
      }
      const silentMs = Math.round(clock.nowMs - connection.lastSeenMs)
      connection.terminate(`no sign of life from ${this.#address} for ${silentMs} ms`)
    }
  }
}

/** Whether bytes have come, or left, since the last look. */
function hasMoved(line: Line): boolean {
  const { bytesRead } = line.tcp
  const { bufferedAmount } = line.socket
  const isReceiving = bytesRead !== line.bytesRead
  const isSending = bufferedAmount < line.bytesWaiting
  line.bytesRead = bytesRead
  line.bytesWaiting = bufferedAmount
  return isReceiving || isSending
}
