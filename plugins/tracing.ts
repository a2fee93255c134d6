import type { SpanContext } from '../core/contracts/tracer.ts'
import type { Exchange } from '../core/exchange.ts'
import { appendParsed } from '../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { limitBaggage } from '../core/tracing/baggage.ts'
import { ExchangeTrace } from '../core/tracing/exchange-trace.ts'
import { findTracePlace } from '../core/tracing/trace-headers.ts'
import { createAddressSet } from '../lib/net/cidr-set.ts'

const options = Type.Object({
  trust: Type.Array(Type.String(), {
    default: ['loopback', 'private', 'unix'],
    description:
      'Connections from these address ranges go on with their trace; others begin one, linked to theirs.',
  }),
})

/**
 * Makes every request part of a trace (W3C Trace Context, W3C Baggage): a span of its own, one for each attempt to have it served, and
 * the fields that services, and what they publish, go on with.
 *
 * Whoever connects from outside the trusted ranges decides nothing of a trace: its `traceparent` is only linked to, its `tracestate`
 * and `baggage` end here. It has no hooks while nobody exports traces: then the fields pass through unchanged.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'tracing',
  description: 'Makes requests part of traces, exported by OTLP where OTEL_* variables say so.',
  options,
  create({ trust }, { tracer }) {
    const trusted = createAddressSet(trust, 'trust')
    if (tracer === undefined) return {}
    return {
      onRequest(x) {
        const told = readPlace(x)
        const isTrusted = trusted.look(x.remoteAddress).inside
        const parent = isTrusted ? told : undefined
        x.trace = new ExchangeTrace(tracer, x, { parent, link: isTrusted ? undefined : told })
        carry(x, x.trace.traceparent, parent?.tracestate ?? '', isTrusted)
      },
      onDone: (x) => x.trace?.end(x),
    }
  },
})

export default plugin

/** Two are malformed, whichever they are (W3C Trace Context §3.2). */
function readPlace({ headers }: Exchange): SpanContext | undefined {
  return findTracePlace((name) => headers.getAll(name).join(',') || undefined)
}

/** What the request is sent on with. */
function carry(
  { headers }: Exchange,
  traceparent: string,
  tracestate: string,
  isTrusted: boolean,
): void {
  const baggage = isTrusted ? limitBaggage(headers.getAll('baggage').join(',')) : ''
  headers.delete('traceparent')
  headers.delete('tracestate')
  headers.delete('baggage')
  appendParsed(headers, 'traceparent', traceparent)
  if (tracestate !== '') appendParsed(headers, 'tracestate', tracestate)
  if (baggage !== '') appendParsed(headers, 'baggage', baggage)
}
