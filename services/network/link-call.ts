import { GatewayError } from '../../core/errors.ts'
import type { TransportFailure } from '../../core/rpc/call.ts'
import { StreamCall } from '../../core/rpc/ws/stream-call.ts'
import { MAX_ADVERTISED_BYTES, MAX_LINK_MESSAGE_BYTES } from '../../domain/mesh/limits.ts'
import { type LinkMessage, readMessage } from '../../domain/mesh/messages.ts'

export const NETWORK = 'network'

/** Maximum length of a logged message. */
export const MAX_REASON = 500

/** Bytes of a peer that are read per second after its initial routes: a MiB of routes takes about 120 ms to apply. */
const BYTES_PER_SECOND = 1024 * 1024

/** Callbacks of a link call. None is called after `onSettled`. */
export interface LinkReceiver {
  /** @throws {TypeError} for an invalid message, which ends the link. */
  readonly onMessage: (message: LinkMessage) => void
  readonly onSettled: (error: GatewayError) => void
}

/** Client side of the stream `Network.Link`. */
export class LinkCall extends StreamCall {
  readonly #receiver: LinkReceiver
  #over = false
  /** Bytes that may be read without delay at {@link #allowanceMs}; negative: read ahead. */
  #allowance = MAX_ADVERTISED_BYTES
  #allowanceMs = performance.now()

  /** @param hello the first message. */
  constructor(hello: object, receiver: LinkReceiver) {
    super(NETWORK, 'Network.Link', hello)
    this.#receiver = receiver
    this.more = true
  }

  /** False: not sent, because the connection is slow. */
  send(message: object): boolean {
    return this.#over || this.sendData(JSON.stringify(message))
  }

  /** Ends the link without notifying the receiver. */
  leave(): void {
    if (this.#over) return
    this.#over = true
    this.cancel()
  }

  override onData(body: Uint8Array): void {
    if (this.#over) return
    try {
      this.#receiver.onMessage(readMessage(parse(body)))
    } catch (error) {
      const message = (error as Error).message.slice(0, MAX_REASON)
      this.cancel()
      return this.onSettled(new GatewayError(NETWORK, 502, `malformed message: ${message}`))
    }
    const { length } = body
    const delayMs = this.#findDelay(length)
    if (delayMs === 0) this.consumed(length)
    // The flow-control window stays closed until then, so the peer cannot send more.
    else setTimeout(() => this.consumed(length), delayMs).unref()
  }

  #findDelay(bytes: number): number {
    const nowMs = performance.now()
    const earned = ((nowMs - this.#allowanceMs) / 1000) * BYTES_PER_SECOND
    this.#allowance = Math.min(this.#allowance + earned, MAX_ADVERTISED_BYTES) - bytes
    this.#allowanceMs = nowMs
    return Math.max(0, (-this.#allowance / BYTES_PER_SECOND) * 1000)
  }

  override onLost(_kind: TransportFailure, detail: string): void {
    this.onSettled(new GatewayError(NETWORK, 502, detail))
  }

  protected override onSettled(error: GatewayError): void {
    if (this.#over) return
    this.#over = true
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
