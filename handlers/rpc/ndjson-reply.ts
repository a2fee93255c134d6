import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { createHeaderBlock } from '../../core/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { StreamReply, toLine } from './stream-reply.ts'

const HEADERS = createHeaderBlock([
  'content-type',
  'application/x-ndjson',
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
])
const LINE_END = 0x0a

/** One JSON document a line; an error is the last one: `{"error": {…}}`. */
export class NdjsonReply extends StreamReply {
  constructor(x: Exchange, call: OutgoingCall, metadata: string) {
    super(x, call, metadata, HEADERS)
  }

  protected format(body: Uint8Array): Uint8Array {
    const line = Buffer.allocUnsafe(body.length + 1)
    line.set(toLine(body))
    line[body.length] = LINE_END
    return line
  }

  protected formatEnd(): string {
    return ''
  }

  protected formatError(error: GatewayError): string {
    return `${JSON.stringify({ error: error.toBody() })}\n`
  }
}
