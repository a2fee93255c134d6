import t from 'tap'
import { findSpanContext, pickTraceHeaders } from '../../../core/tracing/trace-headers.ts'

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const from = (fields: Record<string, string>) => (name: string) => fields[name]

t.test('traceparent, tracestate and baggage are picked from other headers', async (t) => {
  const fields = { traceparent, tracestate: 'a=1, b=2', baggage: 'user=7', accept: '*/*' }
  t.same(pickTraceHeaders(from(fields)), { traceparent, tracestate: 'a=1,b=2', baggage: 'user=7' })
  t.same(pickTraceHeaders(from({ traceparent })), { traceparent })
  t.match(findSpanContext(from(fields)), { spanId: 'b'.repeat(16), tracestate: 'a=1,b=2' })
})

t.test('without a valid traceparent there is no trace', async (t) => {
  for (const fields of [{}, { tracestate: 'a=1' }, { traceparent: 'x', baggage: 'user=7' }]) {
    t.equal(pickTraceHeaders(from(fields)), undefined)
    t.equal(findSpanContext(from(fields)), undefined)
  }
})
