import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { createHeaderBlock, type HeaderBlock, type HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
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
/** A comment: the head of a reply leaves with its first bytes, and an `EventSource` is open from then on. */
const OPENING = Buffer.from(':\n\n')
const BEFORE = Buffer.from('data: ')
const AFTER = Buffer.from('\n\n')

/**
 * Server-sent events (WHATWG HTML §9.2): a message a document. The last event is `end`, or `error` with the error: an
 * `EventSource` that is not closed then connects again.
 */
export class SseReply extends StreamReply {
  constructor(x: Exchange, call: OutgoingCall, headers: HeaderList) {
    super(x, call, headers)
    x.write(OPENING)
  }

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
