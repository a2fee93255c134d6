import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { LINE_FEED, replaceWithBlanks } from '../../core/rpc/http/ndjson.ts'
import { Outflow } from './stream-flow-control.ts'

/** Streaming HTTP response. The constructor starts the response. */
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

  /** Formats one JSON document into newly allocated memory. */
  protected abstract format(body: Uint8Array): Uint8Array
  protected abstract formatEnd(): string
  protected abstract formatError(error: GatewayError): string

  data(body: Uint8Array): void {
    this.#outflow.add(this.format(body), body.length)
  }

  /** Must be called when the client can receive more. */
  drained(): void {
    this.#outflow.drained()
  }

  end(): void {
    this.#finish(this.formatEnd())
  }

  /** Ends the response with an error. */
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

/** Removes line breaks from JSON, since they separate documents in NDJSON and server-sent events. */
export function toOneLine(body: Uint8Array): Uint8Array {
  if (body.length === 0) return EMPTY_JSON
  if (!body.includes(LINE_FEED) && !body.includes(CARRIAGE_RETURN)) return body
  const line = Buffer.from(body)
  replaceWithBlanks(line, LINE_FEED)
  replaceWithBlanks(line, CARRIAGE_RETURN)
  return line
}
