import { isIPv6 } from 'node:net'
import type { Pool } from '../../upstream/pool/pool.ts'
import type { OutgoingCall } from '../call.ts'
import { PlainCall } from './call.ts'

/** Calls to one node in the plain form (docs/protocol.md §3), each a request on a connection of its own while it lasts. */
export class PlainCaller {
  readonly #pool: Pool
  readonly #host: string
  readonly #calls = new Set<PlainCall>()
  #closed = false

  /** @param node host name or IP address without brackets, and port: what `Host` names. */
  constructor(pool: Pool, { host, port }: { readonly host: string; readonly port: number }) {
    this.#pool = pool
    this.#host = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  }

  /** Calls under way, and those that wait for a connection. */
  get pending(): number {
    return this.#calls.size
  }

  /** Sends a call. One that cannot be sent is told so before the method returns. */
  call(call: OutgoingCall): void {
    if (this.#closed) {
      call.release()
      call.onLost('unsent', `${this.#host} takes no more calls`)
      return
    }
    new PlainCall(call, this.#host, this.#pool, this.#calls).start()
  }

  /** Takes no more calls; closes the connections once those under way are over. */
  drain(): void {
    this.#closed = true
    this.#pool.close()
  }

  /** Closes all connections. Calls under way are lost. */
  close(): void {
    this.drain()
    // First those that wait, or they would be sent in place of the others.
    const calls = [...this.#calls].sort((a, b) => Number(a.sent) - Number(b.sent))
    for (const call of calls) call.lose('the caller was closed')
  }
}
