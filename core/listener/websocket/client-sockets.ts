import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { toNetwork } from '../../limits/client-network.ts'
import { toMemoryBytes } from '../../limits/memory-budget.ts'

/** Share of the memory that one client's unfinished messages may use. */
const MEMORY_SHARE = 1 / 4
/** Minimum even with little memory, since a browser with several pages opens as many. */
const MIN_SOCKETS = 16
/** Excess up to which a longer message is read and closed with 1009. */
const SLACK_BYTES = 1024 * 1024

/** The library reads its limits as signed 32-bit integers; greater values, such as infinity, become 0. */
export const UWS_MAX_BYTES: number = 2 ** 31 - 1

/**
 * Returns how many bytes of an unfinished message µWebSockets may buffer per WebSocket. It does not report the actual
 * number.
 *
 * @param maxMessageBytes maximum size of accepted messages.
 */
export function toPayloadMaxBytes(maxMessageBytes: number): number {
  return Math.min(maxMessageBytes + Math.min(maxMessageBytes, SLACK_BYTES), UWS_MAX_BYTES)
}

/**
 * Returns the maximum number of concurrent WebSockets per client.
 *
 * @param setting `auto` limits the unfinished messages of a client to a quarter of the memory.
 * @param maxMessageBytes maximum size of accepted messages.
 * @param memoryBytes memory of the process.
 */
export function toClientSocketsMax(
  setting: number | 'auto',
  maxMessageBytes: number,
  memoryBytes: number = toMemoryBytes(),
): number {
  if (setting !== 'auto') return setting
  const sockets = Math.floor((memoryBytes * MEMORY_SHARE) / toPayloadMaxBytes(maxMessageBytes))
  return Math.max(sockets, MIN_SOCKETS)
}

/** Counts the WebSockets of each client, including handshakes in progress. */
export class ClientSockets {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  /** @param max maximum per client; `Infinity` disables counting. */
  constructor(max: number) {
    this.#max = max
  }

  /**
   * Counts a WebSocket.
   *
   * @returns function that removes it; further calls have no effect.
   * @throws {GatewayError} 503 if the client has reached the limit.
   */
  enter(address: string): () => void {
    if (this.#max === Number.POSITIVE_INFINITY) return () => {}
    const client = toNetwork(address)
    const count = this.#counts.get(client) ?? 0
    if (count >= this.#max) {
      const detail = `Too many WebSockets from one client address: ${count} open (max_client_websockets). Close some, or add the address to trusted_proxies if it is a proxy.`
      throw new GatewayError(GATEWAY_ID, 503, detail, { headers: ['retry-after', '1'] })
    }
    this.#counts.set(client, count + 1)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      const remaining = this.#counts.get(client)! - 1
      if (remaining === 0) this.#counts.delete(client)
      else this.#counts.set(client, remaining)
    }
  }
}
