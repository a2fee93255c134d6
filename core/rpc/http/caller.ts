import { isIPv6 } from 'node:net'
import type { Pool } from '../../upstream/pool/pool.ts'
import type { OutgoingCall } from '../call.ts'
import { PlainCall } from './call.ts'

/** A node, used for the `Host` header. */
export interface PlainCallee {
  /** Host name or IP address without brackets. */
  readonly host: string
  readonly port: number
  /** @default host and port */
  readonly hostHeader?: string | undefined
}

/** Calls a node over the HTTP transport (docs/protocol.md §3), each call on a separate connection. */
export class PlainCaller {
  readonly #pool: Pool
  readonly #host: string
  readonly #calls = new Set<PlainCall>()
  #closed = false

  constructor(pool: Pool, { host, port, hostHeader }: PlainCallee) {
    this.#pool = pool
    this.#host = hostHeader ?? `${isIPv6(host) ? `[${host}]` : host}:${port}`
  }

  /** Number of calls in flight or waiting for a connection. */
  get pending(): number {
    return this.#calls.size
  }

  /** Sends a call. A call that cannot be sent fails before the method returns. */
  call(call: OutgoingCall): void {
    if (this.#closed) {
      call.release()
      call.onLost('unsent', `${this.#host} accepts no more calls`)
      return
    }
    new PlainCall(call, this.#host, this.#pool, this.#calls).start()
  }

  /** Stops accepting calls, and closes the connections when the calls in flight have ended. */
  drain(): void {
    this.#closed = true
    this.#pool.close()
  }

  /** Closes all connections. Calls in flight are lost. */
  close(): void {
    this.drain()
    // Waiting calls first, because they would otherwise be sent when calls in flight end.
    const calls = [...this.#calls].sort((a, b) => Number(a.sent) - Number(b.sent))
    for (const call of calls) call.disconnect('the caller was closed')
  }
}
