import { GatewayError } from '../../core/errors.ts'
import type { TransportFailure } from '../../core/rpc/call.ts'
import { StreamCall } from '../../core/rpc/ws/stream-call.ts'
import { MAX_ADVERTISED_BYTES, MAX_MESSAGE_BYTES } from '../../domain/mesh/limits.ts'
import { type LinkMessage, readMessage } from '../../domain/mesh/messages.ts'

/** Full name of the network service. */
export const NETWORK = 'network'

/** Characters of what is said about a message. */
export const MAX_REASON = 500

/** Bytes of a peer that are read in a second, once it has sent all that it may tell: a MiB of routes takes some 120 ms to apply. */
const BYTES_PER_SECOND = 1024 * 1024

/** What is told of a link. After `onSettled` nothing more. */
export interface LinkReceiver {
  /** @throws {TypeError} for what should not have been said; the link is over then. */
  readonly onMessage: (message: LinkMessage) => void
  readonly onSettled: (error: GatewayError) => void
}

/** The stream of `Network.Link`, as whoever opens it has it. */
export class LinkCall extends StreamCall {
  readonly #receiver: LinkReceiver
  #over = false
  /** Bytes that are read without delay, as of {@link #allowanceMs}; negative: what was read too soon. */
  #allowance = MAX_ADVERTISED_BYTES
  #allowanceMs = performance.now()

  /** @param hello the first message. */
  constructor(hello: object, receiver: LinkReceiver) {
    super(NETWORK, 'Network.Link', hello)
    this.#receiver = receiver
    this.more = true
  }

  /** False: the line is slow, and it was not sent. */
  say(message: object): boolean {
    return this.#over || this.sendData(JSON.stringify(message))
  }

  /** Ends the link without a word to the receiver. */
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
      return this.onSettled(new GatewayError(NETWORK, 502, `what it says is malformed: ${message}`))
    }
    const { length } = body
    const delayMs = this.#findDelay(length)
    if (delayMs === 0) this.consumed(length)
    // Its window stays closed meanwhile: it cannot send more.
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
  if (body.length > MAX_MESSAGE_BYTES)
    throw new TypeError(`message must be at most ${MAX_MESSAGE_BYTES} bytes, got ${body.length}`)
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString())
}
