import { isIPv6, type Socket } from 'node:net'
import type { WebSocket } from '../../../lib/net/ws.ts'
import { clock } from '../../../lib/time/coarse-clock.ts'
import type { Carrier, OutgoingCall } from '../call.ts'
import { deadlines } from '../deadlines.ts'
import { ClientConnection, type ClientOwner } from './client-connection.ts'
import { connectToNode, type NodeConnectOptions } from './connect-to-node.ts'
import { PAYLOAD_MAX_BYTES } from './frames.ts'
import { WsSocket } from './ws-socket.ts'

export interface ChannelOptions extends NodeConnectOptions {
  /** Number of connections to keep open while there are calls. @default 1 */
  readonly connections?: number
  /** Maximum number of calls waiting for a connection. @default 10000 */
  readonly maxWaiting?: number
  /** Maximum number of calls in flight per connection. @default 100000 */
  readonly maxCalls?: number
  /**
   * Milliseconds of silence with calls in flight before a ping. The connection is closed after twice this time.
   * @default 15000
   */
  readonly pingAfterMs?: number
  /** Whether the process may exit while calls are in flight. @default false */
  readonly background?: boolean
}

/** Delay before another attempt to open a connection in addition to a working one. */
const RETRY_MS = 1000
/** Number of checks of a silent connection before it is closed. */
const CHECKS_MAX = 3

/** An open connection and its socket. */
interface Line {
  readonly connection: ClientConnection
  readonly socket: WebSocket
  readonly tcp: Socket
  /** Number of checks since the connection fell silent. */
  silentChecks: number
  /** Bytes read, and bytes waiting to be sent, at the last check. */
  bytesRead: number
  bytesWaiting: number
}

/**
 * The connections to a node (docs/protocol.md §2), opened on demand.
 *
 * A failed connection attempt fails the calls that wait for it. Only another call makes the channel try again. Callers
 * are responsible for retries.
 */
export class Channel implements Carrier {
  readonly #options: ChannelOptions
  readonly #address: string
  // Options used by every call.
  readonly #connections: number
  readonly #maxCalls: number
  readonly #background: boolean
  /** Connections that accept calls. */
  #open: Line[] = []
  /** Connections that accept no more calls but still have calls in flight. */
  readonly #retired = new Map<ClientConnection, Line>()
  readonly #connecting = new Set<WebSocket>()
  readonly #waiting = new Set<OutgoingCall>()
  #next = 0
  /** Time (`clock.nowMs`) before which no further connection is attempted. */
  #retryMs = 0
  #sweeper: NodeJS.Timeout | undefined = undefined
  #closed = false
  readonly #owner: ClientOwner = {
    onRetired: (connection) => this.#retire(connection),
    onUnsent: (call) => this.#redispatch(call),
    onIdle: (connection) => this.#idle(connection),
    onClosed: (connection) => this.#removeConnection(connection),
  }

  constructor(options: ChannelOptions) {
    const { host, port, connections = 1, maxCalls = 100_000, background = false } = options
    this.#options = options
    this.#address = `${isIPv6(host) ? `[${host}]` : host}:${port}`
    this.#connections = connections
    this.#maxCalls = maxCalls
    this.#background = background
  }

  /** Number of calls in flight or waiting for a connection. */
  get pending(): number {
    let pending = this.#waiting.size
    for (const { connection } of this.#open) pending += connection.pending
    for (const connection of this.#retired.keys()) pending += connection.pending
    return pending
  }

  /** True if a connection accepts calls. */
  get connected(): boolean {
    return this.#open.length > 0
  }

  /** Sends a call once there is a connection. A call that cannot be sent may fail before the method returns. */
  call(call: OutgoingCall): void {
    call.resent = false
    call.halfClosed = false
    this.#dispatch(call)
  }
  /** Stops accepting calls, and closes the connections when the calls in flight have ended. */
  drain(): void {
    this.#closed = true
    if (this.pending === 0) this.close()
  }

  /** Closes all connections. Calls in flight are lost. */
  close(): void {
    this.#closed = true
    this.#failWaiting('the channel was closed')
    for (const socket of this.#connecting) socket.terminate()
    const lines = [...this.#open, ...this.#retired.values()]
    for (const { connection } of lines) connection.close('the channel was closed')
  }

  // Calls waiting for a connection

  sendData(call: OutgoingCall): boolean {
    call.isBlocked = true
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

  /** Opens one more connection. The first one is opened by the calls that wait for it. */
  #grow(): void {
    const open = this.#open.length
    if (open === 0 || open + this.#connecting.size >= this.#connections) return
    if (clock.nowMs >= this.#retryMs) this.#connect()
  }

  #send({ connection, tcp }: Line, call: OutgoingCall): void {
    const { pending } = connection
    if (pending >= this.#maxCalls) {
      call.release()
      call.onLost('full', `too many calls to ${this.#address} in flight`)
      return
    }
    connection.call(call)
    // A connection without calls does not keep the process alive.
    if (pending === 0 && connection.pending > 0 && !this.#background) tcp.ref()
  }

  #wait(call: OutgoingCall): void {
    const rejection = this.#closed
      ? 'connect'
      : this.#waiting.size >= (this.#options.maxWaiting ?? 10_000)
        ? 'full'
        : undefined
    if (rejection !== undefined) {
      call.release()
      const detail = rejection === 'full' ? 'too many calls are waiting' : 'the channel was closed'
      call.onLost(rejection, detail)
      return
    }
    call.carrier = this
    if (call.timeoutMs > 0 && call.timedNext === undefined) deadlines.add(call, call.timeoutMs)
    this.#waiting.add(call)
    if (this.#connecting.size === 0) this.#connect()
  }

  #connect(): void {
    const socket = connectToNode(this.#options, this.#address, {
      onOpen: (tcp) => {
        this.#connecting.delete(socket)
        this.#opened(socket, tcp)
      },
      onFailed: (detail, kind) => {
        this.#connecting.delete(socket)
        this.#failed(detail, kind)
      },
    })
    this.#connecting.add(socket)
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
    const lastSeen = () => {
      connection.lastSeenMs = clock.nowMs
    }
    socket.on('ping', lastSeen)
    socket.on('pong', lastSeen)
    const line: Line = { connection, socket, tcp, silentChecks: 0, bytesRead: 0, bytesWaiting: 0 }
    if (this.#closed && this.#waiting.size === 0) return connection.close('the channel was closed')
    this.#open.push(line)
    const { pingAfterMs = 15_000 } = this.#options
    this.#sweeper ??= setInterval(() => this.#sweep(pingAfterMs), pingAfterMs / CHECKS_MAX).unref()
    tcp.unref()
    this.#sendWaiting(line)
  }

  #sendWaiting(line: Line): void {
    const calls = [...this.#waiting]
    for (const call of calls) {
      // An earlier call may have canceled it or retired the connection.
      if (!this.#waiting.delete(call)) continue
      if (line.connection.retired || line.connection.closed) {
        this.#dispatch(call)
        continue
      }
      const { isBlocked } = call
      this.#send(line, call)
      if (isBlocked && call.carrier === line.connection) call.onCredit()
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

  /** Retries once, since a node may reject every connection. */
  #redispatch(call: OutgoingCall): void {
    if (!call.resent && !this.#closed) {
      call.resent = true
      call.id = 0
      this.#dispatch(call)
      return
    }
    call.release()
    call.onLost('unsent', `${this.#address} accepts no more calls`)
  }

  #idle(connection: ClientConnection): void {
    for (const line of this.#open) if (line.connection === connection) line.tcp.unref()
    if (this.#closed && this.pending === 0) this.close()
  }

  #removeConnection(connection: ClientConnection): void {
    this.#open = this.#open.filter((line) => line.connection !== connection)
    this.#retired.delete(connection)
    if (this.#open.length > 0 || this.#retired.size > 0) return
    clearInterval(this.#sweeper)
    this.#sweeper = undefined
  }

  /** Detects dead connections. */
  #sweep(pingAfterMs: number): void {
    for (const line of [...this.#open, ...this.#retired.values()]) {
      const { connection, socket } = line
      // A ping queues behind long messages, which may take longer than its timeout.
      if (hasProgressed(line)) connection.lastSeenMs = clock.nowMs
      if (connection.pending === 0 || clock.nowMs - connection.lastSeenMs < pingAfterMs) {
        line.silentChecks = 0
        continue
      }
      // Checks are counted instead of time, because received bytes are still unread after a stall of this process.
      if (++line.silentChecks <= CHECKS_MAX) {
        socket.ping()
        continue
      }
      const silentMs = Math.round(clock.nowMs - connection.lastSeenMs)
      connection.terminate(`${this.#address} was silent for ${silentMs} ms`)
    }
  }
}

/** True if bytes were received or sent since the last check. */
function hasProgressed(line: Line): boolean {
  const { bytesRead } = line.tcp
  const { bufferedAmount } = line.socket
  const isReceiving = bytesRead !== line.bytesRead
  const isSending = bufferedAmount < line.bytesWaiting
  line.bytesRead = bytesRead
  line.bytesWaiting = bufferedAmount
  return isReceiving || isSending
}
