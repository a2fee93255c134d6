import t from 'tap'
import { createContext } from '../../../sdk/context.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import {
  beginProcess,
  beginSend,
  carryFields,
  endMessage,
  toTraceFields,
} from '../../../sdk/tracing/message-span.ts'
import { Traces } from '../../../sdk/tracing/traces.ts'
import { createRecorder } from '../../fixtures/span-recorder.ts'

const TRACE = 'a'.repeat(32)
const traceparent = `00-${TRACE}-${'b'.repeat(16)}-01`
const message = { system: 'mx.broker', topic: 'orders', group: 'billing', id: '1' }

function open() {
  const { tracer, spans } = createRecorder()
  const traces = new Traces()
  traces.tracer = tracer
  return { traces, spans }
}

t.test('a message continues the trace of the publishing call', async (t) => {
  const { traces, spans } = open()
  const context = createContext({ metadata: { traceparent, tracestate: 'v=1', baggage: 'b=1' } })
  t.same(toTraceFields(context), { traceparent, tracestate: 'v=1', baggage: 'b=1' })
  const sent = beginSend(traces, message, context)!
  const fields = carryFields({ ...toTraceFields(context), kind: 'new' }, sent)
  t.same(fields, { kind: 'new', baggage: 'b=1', tracestate: 'v=1', traceparent: sent.traceparent })
  const handled = beginProcess(traces, message, fields)!
  endMessage(sent)
  endMessage(handled, new TypeError('no'))
  t.match(spans, [
    { name: 'send orders', options: { kind: 'producer', parent: { traceId: TRACE } }, ended: 1 },
    {
      name: 'process orders',
      options: { kind: 'consumer', parent: { spanId: sent.spanId } },
      attributes: { 'messaging.consumer.group.name': 'billing', 'messaging.message.id': '1' },
      failed: 'TypeError',
      ended: 1,
    },
  ])
})

t.test('an error message is recorded in the span, except for request errors', async (t) => {
  const cases: readonly [error: unknown, failed: string, detail: string | undefined][] = [
    [new TypeError('no'), 'TypeError', 'no'],
    ['no', 'Error', 'no'],
    [new ServiceError('orders', 503, 'no'), 'ServiceError', 'no'],
    [
      new ServiceError('orders', 400, 'age must be a number, got "secret"'),
      'ServiceError',
      undefined,
    ],
  ]
  for (const [error, failed, detail] of cases) {
    const { traces, spans } = open()
    endMessage(beginSend(traces, message, undefined), error)
    t.match(spans, [{ failed, detail, ended: 1 }])
  }
})

t.test('without a trace, a message starts one only if allowed and with a tracer', async (t) => {
  const { traces } = open()
  t.ok(beginSend(traces, message, undefined))
  t.ok(beginProcess(traces, message, { traceparent: 'x' }))
  traces.begins = false
  t.equal(beginSend(traces, message, createContext()), undefined)
  t.equal(beginProcess(traces, message, {}), undefined)
  t.ok(beginProcess(traces, message, { traceparent }))
  t.equal(beginSend(undefined, message, createContext({ metadata: { traceparent } })), undefined)
  t.equal(beginProcess(new Traces(), message, { traceparent }), undefined)
  t.same(toTraceFields(undefined), {})
})
