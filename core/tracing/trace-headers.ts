import type { SpanContext } from '../contracts/tracer.ts'
import { limitBaggage } from './baggage.ts'
import { parseSpanContext } from './span-context.ts'

/** Trace headers of an event or a message. */
export interface TraceHeaders {
  readonly traceparent: string
  readonly tracestate?: string
  readonly baggage?: string
}

/** Finds a header value by lower-case name. For repeated headers, returns one value or all joined by commas. */
type Find = (name: string) => string | undefined

/** Reads the span context of the sender. Returns undefined if it is missing or malformed. */
export function findSpanContext(find: Find): SpanContext | undefined {
  return parseSpanContext(find('traceparent'), find('tracestate'))
}

/** Selects valid trace headers, truncated to their limits. Returns undefined if no header is valid. */
export function pickTraceHeaders(find: Find): TraceHeaders | undefined {
  const traceparent = find('traceparent')
  const context = parseSpanContext(traceparent, find('tracestate'))
  if (context === undefined) return undefined
  const baggage = limitBaggage(find('baggage') ?? '')
  return {
    traceparent: traceparent!,
    ...(context.tracestate !== '' && { tracestate: context.tracestate }),
    ...(baggage !== '' && { baggage }),
  }
}
