import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'

/** A streamed reply that is made of the bodies of a stream. Begins with its construction. */
export abstract class StreamReply {
  protected readonly x: Exchange
  readonly #call: OutgoingCall
  /** Bytes the client has not taken, so that the service is not asked for more. */
  #owed: number[] = []
  #blocked = false

  constructor(x: Exchange, call: OutgoingCall, headers: HeaderList) {
    this.x = x
    this.#call = call
    x.start(200, headers, -1)
  }

  /** The text around one JSON document. */
  protected abstract format(body: Uint8Array): Uint8Array
  protected abstract formatEnd(): string
  protected abstract formatError(error: GatewayError): string

  /** Sends a body. */
  data(body: Uint8Array): void {
    if (!this.x.write(this.format(body))) this.#blocked = true
    if (this.#blocked) this.#owed.push(body.length)
    else this.#call.consumed(body.length)
  }

  /** The client takes more. */
  drained(): void {
    this.#blocked = false
    const owed = this.#owed
    this.#owed = []
    for (const bytes of owed) this.#call.consumed(bytes)
  }

  /** The stream is complete. */
  end(): void {
    this.#finish(this.formatEnd())
  }

  /** The stream broke off: the client is told in its last words. */
  fail(error: GatewayError): void {
    this.#finish(this.formatError(error))
  }

  #finish(text: string): void {
    if (text !== '') this.x.write(Buffer.from(text))
    this.x.end()
  }
}

const EMPTY_JSON = Buffer.from('{}')

/** JSON that stands on one line. */
export function toLine(body: Uint8Array): Uint8Array {
  if (body.length === 0) return EMPTY_JSON
  // Line ends in JSON are blanks between tokens: within strings they are escaped.
  if (!body.includes(0x0a) && !body.includes(0x0d)) return body
  return body.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte))
}
