import type { GatewayError } from '../../core/errors.ts'
import { createHeaderBlock, type HeaderBlock } from '../../core/headers.ts'
import { StreamReply, toLine } from './stream-reply.ts'

export const LINES = 'application/x-ndjson'
/** Where the service says nothing else. */
export const NDJSON_HEADERS: HeaderBlock = createHeaderBlock([
  'content-type',
  LINES,
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
])
const LINE_END = 0x0a

/** One JSON document a line; an error is the last one: `{"error": {…}}`. */
export class NdjsonReply extends StreamReply {
  protected format(body: Uint8Array): Uint8Array {
    const json = toLine(body)
    const line = Buffer.allocUnsafe(json.length + 1)
    line.set(json)
    line[json.length] = LINE_END
    return line
  }

  protected formatEnd(): string {
    return ''
  }

  protected formatError(error: GatewayError): string {
    return `${JSON.stringify({ error: error.toBody() })}\n`
  }
}
