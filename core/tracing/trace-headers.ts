import type { SpanContext } from '../contracts/tracer.ts'
import { limitBaggage } from './baggage.ts'
import { parseSpanContext } from './span-context.ts'

/** The fields a trace travels by, where it is told of one thing: an event, a message. */
export interface TraceFields {
  readonly traceparent: string
  readonly tracestate?: string
  readonly baggage?: string
}

/** Finds the value of a field by its name in lower case; several of one name are joined by commas, or one of them. */
type Find = (name: string) => string | undefined

/** Where whoever sent these fields stands in a trace. Undefined: nowhere, or what is said of it is malformed. */
export function findTracePlace(find: Find): SpanContext | undefined {
  return parseSpanContext(find('traceparent'), find('tracestate'))
}

/** The fields of a trace among others, as far as they are well-formed and in bounds. Undefined: there is none. */
export function pickTraceFields(find: Find): TraceFields | undefined {
  const traceparent = find('traceparent')
  const place = parseSpanContext(traceparent, find('tracestate'))
  if (place === undefined) return undefined
  const baggage = limitBaggage(find('baggage') ?? '')
  return {
    traceparent: traceparent!,
    ...(place.tracestate !== '' && { tracestate: place.tracestate }),
    ...(baggage !== '' && { baggage }),
  }
}
