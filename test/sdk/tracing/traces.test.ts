import t from 'tap'
import { Traces } from '../../../sdk/tracing/traces.ts'

const PARENT = 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n'

t.test('a span has trace, parent, name, start, duration, status and direction', async (t) => {
  const traces = new Traces()
  traces.add('greeter.A.B', 'INBOUND', 1000, 1002.5, 200, `x-request-id: r-1\r\n${PARENT}`)
  const [span] = traces.list()
  t.match(span, {
    trace: '0af7651916cd43dd8448eb211c80319c',
    parent: 'b7ad6b7169203331',
    name: 'greeter.A.B',
    duration: 2_500_000n,
    metadata: { code: '200' },
    type: 'INBOUND',
  })
  t.match(span!.id, /^[0-9a-f]{16}$/)
  t.equal(span!.started, BigInt(Math.round(performance.timeOrigin + 1000)) * 1_000_000n)
})

t.test('without a trace, the request id is the trace', async (t) => {
  const traces = new Traces()
  traces.add('a', 'OUTBOUND', 0, 1, 500, 'x-request-id: r-1\r\n')
  traces.add('b', 'INBOUND', 0, 1, 200, 'traceparent: 00-zz-1-00\r\n')
  traces.add('c', 'INBOUND', 0, 1, 200, `x-request-id: r-2\r\na: ${'b'.repeat(5000)}\r\n`)
  t.match(traces.list(), [
    { trace: 'r-1', parent: '', type: 'OUTBOUND', metadata: { code: '500' } },
    { trace: '', parent: '' },
    { trace: '', parent: '' },
  ])
  t.strictSame(
    traces.list('r-1').map(({ name }) => name),
    ['a'],
  )
})

t.test('the last 256 spans are retained with their ids', async (t) => {
  const traces = new Traces()
  for (let i = 0; i < 256; i++) traces.add(String(i), 'INBOUND', 0, 1, 200, '')
  const { id } = traces.list()[1]!
  traces.add('256', 'INBOUND', 0, 1, 200, '')
  const spans = traces.list()
  t.equal(spans.length, 256)
  t.equal(spans[0]!.name, '1')
  t.equal(spans[0]!.id, id)
  t.equal(spans.at(-1)!.name, '256')
  t.equal(new Set(spans.map((span) => span.id)).size, 256)
})
