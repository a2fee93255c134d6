import type { GatewayError } from '../../core/errors.ts'
import { createHeaderBlock, type HeaderBlock } from '../../core/headers.ts'
import { StreamReply, toOneLine } from './stream-reply.ts'

export const EVENTS = 'text/event-stream'
/** Where the service says nothing else. */
export const SSE_HEADERS: HeaderBlock = createHeaderBlock([
  'content-type',
  EVENTS,
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
  protected format(body: Uint8Array): Uint8Array {
    return Buffer.concat([BEFORE, toOneLine(body), AFTER])
  }

  protected formatEnd(): string {
    return 'event: end\ndata: {}\n\n'
  }

  protected formatError(error: GatewayError): string {
    return `event: error\ndata: ${JSON.stringify(error.toBody())}\n\n`
  }
}
