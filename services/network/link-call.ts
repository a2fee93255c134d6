import { GatewayError } from '../../core/errors.ts'
import type { TransportFailure } from '../../core/rpc/call.ts'
import { StreamCall } from '../../core/rpc/ws/stream-call.ts'
import { MAX_ADVERTISED_BYTES, MAX_LINK_MESSAGE_BYTES } from '../../domain/mesh/limits.ts'
import { type LinkMessage, readMessage } from '../../domain/mesh/messages.ts'

export const NETWORK = 'network'

/** Maximum length of a logged message. */
export const MAX_REASON = 500

/**
 * Number of bytes read from a peer per second after its initial routes. One MiB of routes takes
 * about 120 ms to apply.
 */
const BYTES_PER_SECOND = 1024 * 1024

/**
 * Number of bytes of routes that a link may read across all of its connections. A peer that
 * reconnects may not immediately send another full set.
 */
export class ReadAllowance {
  /**
   * Number of bytes that may be read without delay at {@link #sinceMs}. Negative if more was read
   * than allowed.
   */
  #bytes = MAX_ADVERTISED_BYTES
  #sinceMs = performance.now()

  /** Consumes bytes and returns the delay in milliseconds before the next read. */
  take(bytes: number): number {
    const nowMs = performance.now()
    const accrued = ((nowMs - this.#sinceMs) / 1000) * BYTES_PER_SECOND
    this.#bytes = Math.min(this.#bytes + accrued, MAX_ADVERTISED_BYTES) - bytes
    this.#sinceMs = nowMs
    return Math.max(0, (-this.#bytes / BYTES_PER_SECOND) * 1000)
  }
}

/** Callbacks of a link call. None is called after `onSettled`. */
export interface LinkReceiver {
  /** @throws {TypeError} for an invalid message, which ends the link. */
  readonly onMessage: (message: LinkMessage) => void
  readonly onSettled: (error: GatewayError) => void
}

/** Client side of the `Network.Link` stream. */
export class LinkCall extends StreamCall {
  readonly #receiver: LinkReceiver
  #isSettled = false
  readonly #allowance: ReadAllowance

  /** @param hello the first message. */
  constructor(hello: object, receiver: LinkReceiver, allowance: ReadAllowance) {
    super(NETWORK, 'Network.Link', hello)
    this.#receiver = receiver
    this.#allowance = allowance
    this.more = true
  }

  /** Returns false if the message was not sent because the connection is slow. */
  send(message: object): boolean {
    return this.#isSettled || this.sendData(JSON.stringify(message))
  }

  /** Ends the link without notifying the receiver. */
  close(): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.cancel()
  }

  override onData(body: Uint8Array): void {
    if (this.#isSettled) return
    try {
      this.#receiver.onMessage(readMessage(parse(body)))
    } catch (error) {
      const message = (error as Error).message.slice(0, MAX_REASON)
      this.cancel()
      return this.onSettled(new GatewayError(NETWORK, 502, `malformed message: ${message}`))
    }
    const { length } = body
    const delayMs = this.#allowance.take(length)
    if (delayMs === 0) this.consumed(length)
    // Until then, the flow-control window remains closed, so the peer cannot send more.
    else setTimeout(() => this.consumed(length), delayMs).unref()
  }

  override onLost(_kind: TransportFailure, detail: string): void {
    this.onSettled(new GatewayError(NETWORK, 502, detail))
  }

  protected override onSettled(error: GatewayError): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#receiver.onSettled(error)
  }
}

function parse(body: Uint8Array): unknown {
  if (body.length > MAX_LINK_MESSAGE_BYTES)
    throw new TypeError(
      `message must be at most ${MAX_LINK_MESSAGE_BYTES} bytes, got ${body.length}`,
    )
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString())
}
