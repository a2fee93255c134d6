import type { GatewayError } from '../../core/errors.ts'
import { createHeaderBlock, type HeaderBlock } from '../../core/http/headers.ts'
import { LINE_FEED, LINES } from '../../core/rpc/http/ndjson.ts'
import { StreamReply, toOneLine } from './stream-reply.ts'

/** Default response headers. */
export const NDJSON_HEADERS: HeaderBlock = createHeaderBlock([
  'content-type',
  LINES,
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
])

/** Response with one JSON document per line. An error is the last line: `{"error": {…}}`. */
export class NdjsonReply extends StreamReply {
  protected format(body: Uint8Array): Uint8Array {
    const json = toOneLine(body)
    const line = Buffer.allocUnsafe(json.length + 1)
    line.set(json)
    line[json.length] = LINE_FEED
    return line
  }

  protected formatEnd(): string {
    return ''
  }

  protected formatError(error: GatewayError): string {
    return `${JSON.stringify({ error: error.toBody() })}\n`
  }
}
