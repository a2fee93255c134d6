import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { createHeaderBlock, type HeaderBlock, type HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { StreamReply, toOneLine } from './stream-reply.ts'

export const EVENT_STREAM = 'text/event-stream'
/** Default response headers. */
export const SSE_HEADERS: HeaderBlock = createHeaderBlock([
  'content-type',
  EVENT_STREAM,
  'cache-control',
  'no-store',
  'x-accel-buffering',
  'no',
])
/**
 * A comment, sent immediately because the response head is sent with the first body bytes and opens an `EventSource`.
 */
const OPENING = Buffer.from(':\n\n')
const PREFIX = Buffer.from('data: ')
const SUFFIX = Buffer.from('\n\n')

/**
 * Server-sent events (WHATWG HTML §9.2) with one message per document. The last event is `end`, or `error` with the
 * error. Clients must then close the `EventSource`, which otherwise reconnects.
 */
export class SseReply extends StreamReply {
  constructor(x: Exchange, call: OutgoingCall, headers: HeaderList) {
    super(x, call, headers)
    x.write(OPENING)
  }

  protected format(body: Uint8Array): Uint8Array {
    return Buffer.concat([PREFIX, toOneLine(body), SUFFIX])
  }

  protected formatEnd(): string {
    return 'event: end\ndata: {}\n\n'
  }

  protected formatError(error: GatewayError): string {
    return `event: error\ndata: ${JSON.stringify(error.toBody())}\n\n`
  }
}
