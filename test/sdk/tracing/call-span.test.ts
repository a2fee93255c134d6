import t from 'tap'
import { beginCall, carrySpan, endCall, findCallPlace } from '../../../sdk/tracing/call-span.ts'
import { createRecorder } from '../../fixtures/span-recorder.ts'

const TRACE = 'a'.repeat(32)
const METADATA = `x-request-id: r-1\r\ntraceparent: 00-${TRACE}-${'b'.repeat(16)}-01\r\ntracestate: v=1\r\n`
const call = { service: 'greeter', endpoint: 'Greeter.Hello' }

t.test('a call continues the trace of its metadata', async (t) => {
  const { tracer, spans } = createRecorder()
  const span = beginCall(tracer, 'server', { ...call, metadata: METADATA }, false, 5)!
  t.match(spans, [
    {
      name: 'greeter/Greeter.Hello',
      options: { kind: 'server', startMs: 5, parent: { traceId: TRACE, tracestate: 'v=1' } },
      attributes: { 'rpc.method': 'Greeter.Hello', 'mx.request_id': 'r-1' },
    },
  ])
  const carried = carrySpan(METADATA, span)
  t.equal(carried, `traceparent: ${span.traceparent}\r\ntracestate: v=1\r\nx-request-id: r-1\r\n`)
  t.match(findCallPlace(carried), { traceId: TRACE, spanId: span.spanId })
})

t.test('without a valid trace, a call starts one only if allowed', async (t) => {
  const { tracer } = createRecorder()
  for (const metadata of ['', 'traceparent: 00-x\r\ntracestate: v=1\r\n']) {
    t.equal(beginCall(tracer, 'client', { ...call, metadata }, false, 0), undefined)
    const span = beginCall(tracer, 'client', { ...call, metadata }, true, 0)!
    t.equal(carrySpan(metadata, span), `traceparent: ${span.traceparent}\r\n`)
  }
  const probe = { service: 'greeter', endpoint: 'Debug.Health', metadata: METADATA }
  t.equal(beginCall(tracer, 'server', probe, true, 0), undefined, 'health checks are not traced')
})

t.test('an error status marks the span of its side, with details from status 500', async (t) => {
  type Case = [kind: 'server' | 'client', code: number, failed?: string, expected?: string]
  const cases: readonly Case[] = [
    ['server', 200],
    ['server', 404],
    ['server', 500, '500', 'why'],
    ['client', 404, '404'],
    ['client', 499],
    ['client', 503, '503', 'why'],
  ]
  for (const [kind, code, failed, detail] of cases) {
    const { tracer, spans } = createRecorder()
    endCall(beginCall(tracer, kind, { ...call, metadata: METADATA }, false, 0)!, kind, code, 'why')
    t.match(
      spans,
      [{ failed, detail, ended: 1, attributes: { 'mx.status_code': code } }],
      `${kind} ${code}`,
    )
  }
})
