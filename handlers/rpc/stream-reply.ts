import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { LINE_FEED, toBlanks } from '../../core/rpc/http/ndjson.ts'
import { Outflow } from './stream-flow-control.ts'

/** A streamed reply that is made of the bodies of a stream. Begins with its construction. */
export abstract class StreamReply {
  readonly #x: Exchange
  readonly #outflow: Outflow

  constructor(x: Exchange, call: OutgoingCall, headers: HeaderList) {
    this.#x = x
    this.#outflow = new Outflow(call, (pieces) =>
      x.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)),
    )
    x.start(200, headers, -1)
  }

  /** The text around one JSON document, in memory of its own. */
  protected abstract format(body: Uint8Array): Uint8Array
  protected abstract formatEnd(): string
  protected abstract formatError(error: GatewayError): string

  /** Sends a body. */
  data(body: Uint8Array): void {
    this.#outflow.add(this.format(body), body.length)
  }

  /** The client takes more. */
  drained(): void {
    this.#outflow.drained()
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
    this.#outflow.flush()
    if (text !== '') this.#x.write(Buffer.from(text))
    this.#x.end()
  }
}

const CARRIAGE_RETURN = 13
const EMPTY_JSON = Buffer.from('{}')

/** JSON without line ends: those of NDJSON and of server-sent events part it from the next. */
export function toOneLine(body: Uint8Array): Uint8Array {
  if (body.length === 0) return EMPTY_JSON
  if (!body.includes(LINE_FEED) && !body.includes(CARRIAGE_RETURN)) return body
  const line = Buffer.from(body)
  toBlanks(line, LINE_FEED)
  toBlanks(line, CARRIAGE_RETURN)
  return line
}
