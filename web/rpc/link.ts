import { type ReadonlySignal, signal } from '@preact/signals'
import { createBackOff } from '../../lib/async/backoff.ts'
import { CallError, CONNECTION_ID } from './call-error.ts'
import { type CallOptions, Connection } from './connection.ts'
import { toBody } from './frames.ts'
import { Silence } from './liveness.ts'
import type { SentCall } from './sent-call.ts'

/** `connecting`: for the first time; `lost`: it was there, or could not be had, and is tried again. */
export type ConnectionState = 'connecting' | 'open' | 'lost'

/** What a page's WebSocket offers of what is used here. */
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
  /** Called when there is no connection to be had: a refused login looks like a server that is gone. */
  readonly onDenied: () => void
  /** Silence after which the server is asked something, while calls are under way. @default 15000 */
  readonly silenceMs?: number
  /** How long a connection may take to come about. @default 10000 */
  readonly dialMs?: number
  /** How long calls wait for a connection, unless their time is over before. @default 10000 */
  readonly waitMs?: number
}

const SILENCE_MS = 15_000
const DIAL_MS = 10_000
const WAIT_MS = 10_000
/** A close code for programs, RFC 6455 §7.4.2. */
const DEAD = 4000
/** What any server answers at once, and be it with an error. Without a deadline: it is over with its connection. */
const SIGN_OF_LIFE: CallOptions = {
  ...{ service: 'registry', endpoint: 'Debug.Health', metadata: '', timeoutMs: 0 },
  ...{ body: toBody({}), streams: false, sends: false },
}

/** A call that has no connection yet. */
interface Waiter {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: CallError) => void
}

/** The one connection of the page: opened again whenever it is lost, until it is closed. */
export class Link {
  readonly #state = signal<ConnectionState>('connecting')
  readonly #opened = signal(0)
  readonly #options: LinkOptions
  readonly #backOff = createBackOff()
  readonly #waiting = new Set<Waiter>()
  /** Where new calls go. */
  #current: Connection | undefined
  #currentSilence: Silence | undefined
  /** Gives the connections up that there are: the one of new calls, and those that are left. */
  readonly #drops = new Set<() => void>()
  #attempt: LinkSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #wanted = false

  constructor(options: LinkOptions) {
    this.#options = options
  }

  get state(): ReadonlySignal<ConnectionState> {
    return this.#state
  }

  /** How often it was opened: changes with each connection, so that what watches begins anew. */
  get opened(): ReadonlySignal<number> {
    return this.#opened
  }

  /** Keeps a connection from now on. */
  open(): void {
    if (this.#wanted) return
    this.#wanted = true
    this.#state.value = 'connecting'
    this.#dial()
  }

  /** Gives all connections up; their calls fail. */
  close(): void {
    this.#wanted = false
    clearTimeout(this.#timer)
    const attempt = this.#attempt
    this.#attempt = undefined
    attempt?.close()
    for (const drop of [...this.#drops]) drop()
    for (const { reject } of [...this.#waiting]) reject(toUnwanted())
    this.#state.value = 'connecting'
  }

  /** Tries again at once, where it is lost; where it is not, asks for a sign of life unless there was one lately. */
  hurry(): void {
    if (!this.#wanted) return
    if (this.#current === undefined) this.#dial()
    else this.#currentSilence?.check()
  }

  /**
   * Begins a call as soon as there is a connection; waiting takes of its time.
   *
   * @throws {CallError} 503 when there is none to be had in time, 401 when none is wanted.
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
    if (!this.#wanted) return Promise.reject(toUnwanted())
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
        () => waiter.reject(new CallError(CONNECTION_ID, 503, 'the server does not answer')),
        timeoutMs === 0 ? waitMs : Math.min(timeoutMs, waitMs),
      )
      signal?.addEventListener('abort', abort)
      this.#waiting.add(waiter)
      this.hurry()
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
      this.#options.onDenied()
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
      socket.close(DEAD, 'given up')
      gone()
    }
    const silence = new Silence({
      awaited: () => connection.size,
      // A server that is leaving answers no new calls: those that are under way are what is waited for.
      ping: () => void (connection.leaving || connection.call(SIGN_OF_LIFE)),
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

  /** New calls go elsewhere. */
  #leave(connection: Connection): void {
    if (this.#current !== connection) return
    this.#current = undefined
    this.#currentSilence = undefined
    this.#lose()
  }

  #lose(): void {
    if (!this.#wanted) return
    this.#state.value = 'lost'
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#dial(), this.#backOff.next())
  }
}

function toUnwanted(): CallError {
  return new CallError(CONNECTION_ID, 401, 'nobody is logged in')
}
