import { type ReadonlySignal, signal } from '@preact/signals'
import { createBackOff } from '../../lib/async/backoff.ts'
import { CallError, CONNECTION_ID } from './call-error.ts'
import { type CallOptions, Connection } from './connection.ts'
import { toBody } from './frames.ts'
import { Silence } from './liveness.ts'
import type { SentCall } from './sent-call.ts'

/**
 * Connection state. `connecting` is the first attempt; `lost` means that the connection or the attempt failed and the
 * page is reconnecting.
 */
export type ConnectionState = 'connecting' | 'open' | 'lost'

/** The subset of `WebSocket` used here. */
export interface LinkSocket {
  binaryType: string
  onopen: ((event: never) => unknown) | null
  onclose: ((event: never) => unknown) | null
  onmessage: ((event: never) => unknown) | null
  send(message: Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

export interface LinkOptions {
  /** Opens a WebSocket to the server. */
  readonly dial: () => LinkSocket
  /** Called if connecting fails. A browser cannot distinguish a rejected login from an unreachable server. */
  readonly onConnectFailed: () => void
  /**
   * Milliseconds without a message after which the server is probed while calls are in flight.
   * @default 15000
   */
  readonly silenceMs?: number
  /** Connection timeout in milliseconds. @default 10000 */
  readonly dialMs?: number
  /**
   * Maximum time in milliseconds that a call waits for a connection; limited by its deadline.
   * @default 10000
   */
  readonly waitMs?: number
}

const SILENCE_MS = 15_000
const DIAL_MS = 10_000
const WAIT_MS = 10_000
/** Close code for private use (RFC 6455 §7.4.2). */
const DEAD = 4000
/**
 * Probe to which every server responds immediately, possibly with an error. It has no deadline, because it ends with
 * its connection.
 */
const PROBE: CallOptions = {
  ...{ service: 'registry', endpoint: 'Debug.Health', metadata: '', timeoutMs: 0 },
  ...{ body: toBody({}), streams: false, sends: false },
}

/** A call waiting for a connection. */
interface Waiter {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: CallError) => void
}

/** The connection of the page. Reconnects until it is closed. */
export class Link {
  readonly #state = signal<ConnectionState>('connecting')
  readonly #opened = signal(0)
  readonly #options: LinkOptions
  readonly #backOff = createBackOff()
  readonly #waiting = new Set<Waiter>()
  /** Connection used for new calls. */
  #current: Connection | undefined
  #currentSilence: Silence | undefined
  /** Functions that close connections: the current one and draining ones. */
  readonly #drops = new Set<() => void>()
  #attempt: LinkSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOpen = false

  constructor(options: LinkOptions) {
    this.#options = options
  }

  get state(): ReadonlySignal<ConnectionState> {
    return this.#state
  }

  /** Number of connections so far. Watches restart when it changes. */
  get opened(): ReadonlySignal<number> {
    return this.#opened
  }

  /** Connects, and reconnects from now on. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#state.value = 'connecting'
    this.#dial()
  }

  /** Closes all connections. Their calls fail. */
  close(): void {
    this.#isOpen = false
    clearTimeout(this.#timer)
    const attempt = this.#attempt
    this.#attempt = undefined
    attempt?.close()
    for (const drop of [...this.#drops]) drop()
    for (const { reject } of [...this.#waiting]) reject(toLoggedOut())
    this.#state.value = 'connecting'
  }

  /**
   * Reconnects immediately if the connection is lost; otherwise probes it unless a message was
   * received recently.
   */
  reconnect(): void {
    if (!this.#isOpen) return
    if (this.#current === undefined) this.#dial()
    else this.#currentSilence?.check()
  }

  /**
   * Starts a call when connected. Waiting time counts towards its deadline.
   *
   * @throws {CallError} 503 if no connection is available in time, 401 if logged out.
   */
  async call(options: CallOptions, signal?: AbortSignal): Promise<SentCall> {
    if (this.#current !== undefined) return this.#current.call(options)
    const startedMs = performance.now()
    const connection = await this.#wait(options.timeoutMs, signal)
    if (options.timeoutMs === 0) return connection.call(options)
    const leftMs = Math.floor(options.timeoutMs - (performance.now() - startedMs))
    return connection.call({ ...options, timeoutMs: Math.max(1, leftMs) })
  }

  #wait(timeoutMs: number, signal?: AbortSignal): Promise<Connection> {
    if (!this.#isOpen) return Promise.reject(toLoggedOut())
    const { waitMs = WAIT_MS } = this.#options
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiting.delete(waiter)
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const waiter: Waiter = {
        resolve(connection) {
          settle()
          resolve(connection)
        },
        reject(error) {
          settle()
          reject(error)
        },
      }
      const abort = (): void => waiter.reject(new CallError(CONNECTION_ID, 499, 'cancelled'))
      const timer = setTimeout(
        () => waiter.reject(new CallError(CONNECTION_ID, 503, 'the server does not respond')),
        timeoutMs === 0 ? waitMs : Math.min(timeoutMs, waitMs),
      )
      signal?.addEventListener('abort', abort)
      this.#waiting.add(waiter)
      this.reconnect()
    })
  }

  #dial(): void {
    if (this.#attempt !== undefined) return
    clearTimeout(this.#timer)
    const socket = this.#options.dial()
    this.#attempt = socket
    socket.binaryType = 'arraybuffer'
    const fail = (): void => {
      clearTimeout(timer)
      if (this.#attempt !== socket) return
      this.#attempt = undefined
      socket.close()
      this.#lose()
      this.#options.onConnectFailed()
    }
    const timer = setTimeout(fail, this.#options.dialMs ?? DIAL_MS)
    socket.onclose = fail
    socket.onopen = () => {
      clearTimeout(timer)
      this.#onOpen(socket)
    }
  }

  #onOpen(socket: LinkSocket): void {
    if (this.#attempt !== socket) return socket.close()
    this.#attempt = undefined
    this.#backOff.reset()
    const connection = new Connection(socket)
    const drop = (): void => {
      socket.onmessage = null
      connection.lose()
      socket.close(DEAD, 'no response')
      gone()
    }
    const silence = new Silence({
      inFlight: () => connection.size,
      // A draining server rejects all new calls, including probes.
      probe: () => void (connection.leaving || connection.call(PROBE)),
      onDead: drop,
    })
    const ticks = setInterval(() => silence.tick(), this.#options.silenceMs ?? SILENCE_MS)
    const gone = (): void => {
      clearInterval(ticks)
      socket.onclose = null
      this.#drops.delete(drop)
      this.#leave(connection)
    }
    socket.onmessage = ({ data }: { data: ArrayBuffer | string }) => {
      silence.onMessage()
      connection.receive(typeof data === 'string' ? data : new Uint8Array(data))
      if (connection.leaving || connection.closed) this.#leave(connection)
    }
    socket.onclose = () => {
      connection.lose()
      gone()
    }
    this.#drops.add(drop)
    this.#current = connection
    this.#currentSilence = silence
    this.#state.value = 'open'
    this.#opened.value++
    for (const { resolve } of [...this.#waiting]) resolve(connection)
  }

  /** Stops using a connection for new calls. */
  #leave(connection: Connection): void {
    if (this.#current !== connection) return
    this.#current = undefined
    this.#currentSilence = undefined
    this.#lose()
  }

  #lose(): void {
    if (!this.#isOpen) return
    this.#state.value = 'lost'
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#dial(), this.#backOff.next())
  }
}

function toLoggedOut(): CallError {
  return new CallError(CONNECTION_ID, 401, 'not logged in')
}
