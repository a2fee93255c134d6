import { type ReadonlySignal, signal } from '@preact/signals'
import { createBackOff } from '../../core/back-off.ts'
import { CallError, CONNECTION_ID } from './call-error.ts'
import { type CallOptions, Connection } from './connection.ts'
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
  /** Asks the server for a sign of life, by other means; rejects where there is none. */
  readonly probe: () => Promise<unknown>
  /** Silence after which it is asked, while calls are under way. @default 15000 */
  readonly silenceMs?: number
}

const SILENCE_MS = 15_000
/** A close code for programs, RFC 6455 §7.4.2. */
const DEAD = 4000

/** The one connection of the page: opened again whenever it is lost, until it is closed. */
export class Link {
  readonly #state = signal<ConnectionState>('connecting')
  readonly #opened = signal(0)
  readonly #options: LinkOptions
  readonly #backOff = createBackOff()
  readonly #waiting = new Set<{
    resolve: (c: Connection) => void
    reject: (e: CallError) => void
  }>()
  /** Where new calls go. */
  #current: Connection | undefined
  #attempt: LinkSocket | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: ReturnType<typeof setInterval> | undefined
  #drop: (() => void) | undefined
  #heard = false
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
    const { silenceMs = SILENCE_MS } = this.#options
    this.#watch = setInterval(() => this.#listen(), silenceMs)
    this.#dial()
  }

  /** Gives the connection up; its calls fail. */
  close(): void {
    this.#wanted = false
    clearTimeout(this.#timer)
    clearInterval(this.#watch)
    const attempt = this.#attempt
    this.#attempt = undefined
    attempt?.close()
    this.#drop?.()
    this.#refuse('nobody is logged in', 401)
    this.#state.value = 'connecting'
  }

  /** Tries again at once, where it is lost. */
  hurry(): void {
    if (this.#wanted && this.#current === undefined) this.#dial()
  }

  /** Begins a call as soon as there is a connection. @throws {CallError} 503 when there is none to be had, 401 when none is wanted. */
  async call(options: CallOptions, signal?: AbortSignal): Promise<SentCall> {
    const connection = this.#current ?? (await this.#wait(signal))
    return connection.call(options)
  }

  #wait(signal?: AbortSignal): Promise<Connection> {
    if (!this.#wanted)
      return Promise.reject(new CallError(CONNECTION_ID, 401, 'nobody is logged in'))
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      this.#waiting.add(waiter)
      signal?.addEventListener('abort', () => {
        if (this.#waiting.delete(waiter)) reject(new CallError(CONNECTION_ID, 499, 'cancelled'))
      })
      this.hurry()
    })
  }

  #dial(): void {
    if (this.#attempt !== undefined) return
    clearTimeout(this.#timer)
    const socket = this.#options.dial()
    this.#attempt = socket
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => this.#onOpen(socket)
    socket.onclose = () => {
      if (this.#attempt !== socket) return
      this.#attempt = undefined
      this.#refuse('the server does not answer', 503)
      this.#lose()
      // A refused login looks like a server that is gone.
      this.#options.probe().catch(() => {})
    }
  }

  #onOpen(socket: LinkSocket): void {
    if (this.#attempt !== socket) return socket.close()
    this.#attempt = undefined
    this.#backOff.reset()
    const connection = new Connection(socket)
    const drop = (): void => {
      socket.onclose = null
      socket.onmessage = null
      connection.lose()
      socket.close(DEAD, 'given up')
      this.#leave(connection)
    }
    socket.onmessage = ({ data }: { data: ArrayBuffer | string }) => {
      this.#heard = true
      connection.receive(typeof data === 'string' ? data : new Uint8Array(data))
      if (connection.leaving) this.#leave(connection)
    }
    socket.onclose = () => {
      connection.lose()
      this.#leave(connection)
    }
    this.#drop = drop
    this.#current = connection
    this.#heard = true
    this.#state.value = 'open'
    this.#opened.value++
    for (const { resolve } of this.#waiting) resolve(connection)
    this.#waiting.clear()
  }

  /** New calls go elsewhere. */
  #leave(connection: Connection): void {
    if (this.#current !== connection) return
    this.#current = undefined
    this.#drop = undefined
    this.#lose()
  }

  #lose(): void {
    if (!this.#wanted) return
    this.#state.value = 'lost'
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#dial(), this.#backOff.next())
  }

  #refuse(detail: string, code: number): void {
    for (const { reject } of this.#waiting) reject(new CallError(CONNECTION_ID, code, detail))
    this.#waiting.clear()
  }

  /** Pages cannot ping (docs/protocol.md §2.6): where nothing comes, another request tells whether the server is there. */
  #listen(): void {
    const connection = this.#current
    const silent = !this.#heard
    this.#heard = false
    if (connection === undefined || connection.size === 0 || !silent) return
    this.#options.probe().catch(() => {
      if (this.#current === connection && !this.#heard) this.#drop?.()
    })
  }
}
