import type { SpanContext } from '../../core/contracts/tracer.ts'
import type { Exchange } from '../../core/exchange.ts'
import { appendParsed } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { limitBaggage } from '../../core/tracing/baggage.ts'
import { ExchangeTrace } from '../../core/tracing/exchange-trace.ts'
import { findSpanContext } from '../../core/tracing/trace-headers.ts'
import { createCidrSet } from '../../lib/net/cidr-set.ts'

const options = Type.Object({
  trust: Type.Array(Type.String(), {
    default: ['loopback', 'private', 'unix'],
    description:
      'Address ranges of clients whose trace context is trusted. Requests from other clients start a new trace with a link to theirs.',
  }),
})

/**
 * Adds every request to a trace (W3C Trace Context, W3C Baggage): a span for the request, a span for each attempt, and
 * the headers that propagate the context to services and their published events.
 *
 * Clients outside the trusted ranges do not influence a trace: their `traceparent` becomes a link, and their
 * `tracestate` and `baggage` are dropped. Without an exporter, the plugin has no hooks and the headers are forwarded
 * unchanged.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'tracing',
  description: 'Traces requests and exports spans by OTLP, configured by OTEL_* variables.',
  scopes: ['gateway'],
  options,
  create({ trust }, { tracer }) {
    const trusted = createCidrSet(trust, 'trust')
    if (tracer === undefined) return {}
    return {
      onRequest(x) {
        const received = readContext(x)
        const isTrusted = trusted.lookup(x.remoteAddress).inside
        const parent = isTrusted ? received : undefined
        x.trace = new ExchangeTrace(tracer, x, { parent, link: isTrusted ? undefined : received })
        setContext(x, x.trace.traceparent, parent?.tracestate ?? '', isTrusted)
      },
      onDone: (x) => x.trace?.end(x),
    }
  },
})

export default plugin

/** Repeated headers are malformed (W3C Trace Context §3.2). */
function readContext({ headers }: Exchange): SpanContext | undefined {
  return findSpanContext((name) => headers.getAll(name).join(',') || undefined)
}

function setContext(
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
