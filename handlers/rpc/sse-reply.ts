import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { createHeaderBlock } from '../../core/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { StreamReply, toLine } from './stream-reply.ts'

const HEADERS = createHeaderBlock([
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
])
const BEFORE = Buffer.from('data: ')
const AFTER = Buffer.from('\n\n')

/**
 * Server-sent events (WHATWG HTML §9.2): a message a document. The last event is `end`, or `error` with the error: an
 * `EventSource` that is not closed then connects again.
 */
export class SseReply extends StreamReply {
  constructor(x: Exchange, call: OutgoingCall, metadata: string) {
    super(x, call, metadata, HEADERS)
  }

  protected format(body: Uint8Array): Uint8Array {
    return Buffer.concat([BEFORE, toLine(body), AFTER])
  }

  protected formatEnd(): string {
    return 'event: end\ndata: {}\n\n'
  }

  protected formatError(error: GatewayError): string {
    return `event: error\ndata: ${JSON.stringify(error.toBody())}\n\n`
  }
}
