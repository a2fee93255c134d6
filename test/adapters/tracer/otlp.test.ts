import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { createOtlpTracing, type OtlpTracing } from '../../../adapters/tracer/otlp.ts'
import { listen } from '../../fixtures/listen.ts'
import { exportTo, openOtlpCollector, setVariables } from '../../fixtures/otlp-collector.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

interface OpenTracer {
  readonly tracing: OtlpTracing
  readonly warnings: string[]
  readonly recovered: number[]
}

async function open(t: Test, closeMs = 5000): Promise<OpenTracer> {
  const warnings: string[] = []
  const recovered: number[] = []
  const tracing = await createOtlpTracing({
    onError: (reason) => warnings.push(reason),
    onRecover: (lost) => recovered.push(lost),
    onProblem: (problem) => t.fail(problem),
    closeMs,
  })
  t.teardown(tracing.close)
  return { tracing, warnings, recovered }
}

function make({ tracing }: OpenTracer, count: number, name = 'work'): void {
  const tracer = tracing.createTracer({ name: 'test' })
  for (let i = 0; i < count; i++) tracer.start(name, { kind: 'server' }).end()
}

t.test('exports spans with service, parent and link', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  setVariables(t, {
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=a%20b',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=1234',
  })
  const { tracing } = await open(t)
  const tracer = tracing.createTracer({
    name: 'greeter',
    version: '1.2.3',
    instance: 'greeter-1',
  })
  const parent = tracer.start('parent', { kind: 'server', startMs: performance.now() - 50 })
  const link = { ...parent, traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), isRemote: true }
  const child = tracer.start('child', { kind: 'producer', parent, link })
  child.set({ text: 'a', number: 1.5, whole: 2, yes: true, none: undefined })
  child.fail('timeout', 'took too long')
  child.end()
  parent.rename('GET /')
  parent.end()
  await tracing.close()
  const [sent, rejected] = collector.spans
  t.match(sent, {
    service: 'greeter',
    name: 'child',
    kind: 'producer',
    traceId: parent.traceId,
    parentSpanId: parent.spanId,
    attributes: { text: 'a', number: 1.5, whole: 2, yes: true, 'error.type': 'timeout' },
    failed: true,
    message: 'took too long',
    links: [`${'c'.repeat(32)}-${'d'.repeat(16)}`],
  })
  t.notOk('none' in sent!.attributes)
  t.match(rejected, { name: 'GET /', kind: 'server', parentSpanId: '', failed: false })
  t.ok(rejected!.durationMs >= 50)
  t.match(rejected!.resource, {
    'service.version': '1.2.3',
    'service.instance.id': 'greeter-1',
    'deployment.environment.name': 'test',
    team: 'a b',
  })
  t.match(collector.requests[0], { url: '/v1/traces', 'x-api-key': '1234' })
})

t.test('exports durations and child spans within their parents', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  const { tracing } = await open(t)
  const tracer = tracing.createTracer({ name: 'test' })
  const tookMs: number[] = []
  for (let i = 0; i < 20; i++) {
    const startedMs = performance.now()
    const parent = tracer.start('parent', {
      kind: 'server',
      ...(i % 2 === 0 && { startMs: startedMs }),
    })
    const child = tracer.start('child', { kind: 'client', parent })
    const untilMs = performance.now() + 0.5
    while (performance.now() < untilMs);
    child.end()
    parent.end()
    tookMs.push(performance.now() - startedMs)
  }
  await tracing.close()
  for (const [i, ms] of tookMs.entries()) {
    const child = collector.spans[2 * i]!
    const parent = collector.spans[2 * i + 1]!
    // All have 19 digits.
    t.ok(child.startNs >= parent.startNs && child.endNs <= parent.endNs, 'within its parent')
    // Milliseconds since 1970 as a double are exact to 0.0003 ms.
    t.ok(child.durationMs > 0.499 && parent.durationMs < ms + 0.001, `${child.durationMs} ms`)
  }
  const offMs = Number(collector.spans[0]!.startNs) / 1e6 - Date.now()
  t.ok(Math.abs(offMs) < 60_000, 'since 1970')
})

t.test('applies a changed system clock to starts but not to durations', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  const { tracing } = await open(t)
  const tracer = tracing.createTracer({ name: 'test' })
  const before = tracer.start('before', { kind: 'server' })
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + 3_600_000 })
  tracer.start('after', { kind: 'server' }).end()
  before.end()
  await tracing.close()
  const [after, started] = collector.spans
  t.ok(started!.durationMs < 60_000)
  t.ok(Number(after!.startNs) - Number(started!.startNs) > 3.59e12)
})

t.test('prefers OTEL_SERVICE_NAME', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  setVariables(t, { OTEL_SERVICE_NAME: 'shop' })
  const result = await open(t)
  make(result, 1)
  await result.tracing.close()
  t.equal(collector.spans[0]!.service, 'shop')
})

t.test('samples complete traces', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  setVariables(t, {
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  const { tracing } = await open(t)
  const tracer = tracing.createTracer({ name: 'test' })
  let recorded = 0
  for (let i = 0; i < 400; i++) {
    const span = tracer.start('root', { kind: 'server' })
    const child = tracer.start('child', { kind: 'client', parent: span })
    if (span.isRecording) recorded++
    if (child.isSampled !== span.isSampled || child.traceparent.endsWith('1') !== span.isSampled)
      t.fail('a trace is sampled partially')
    child.end()
    span.end()
  }
  await tracing.close()
  // 100 are expected; less than 50 or more than 150 happens once in 10^7 runs.
  t.ok(recorded > 50 && recorded < 150, `${recorded} of 400`)
  t.equal(collector.spans.length, 2 * recorded)
})

t.test('reports rejected spans once with their number', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  collector.status = 400
  const result = await open(t)
  make(result, 3)
  await waitUntil(() => result.warnings.length === 1)
  make(result, 2)
  await waitUntil(() => collector.requests.length === 2)
  collector.status = 200
  make(result, 1, 'accepted')
  await collector.find(({ name }) => name === 'accepted')
  await waitUntil(() => result.recovered.length === 1)
  t.match(result.warnings, [/^the collector returned 400/])
  t.same(result.recovered, [5])
})

t.test('drops spans while the collector is unreachable', async (t) => {
  exportTo(t, { url: 'http://127.0.0.1:1' })
  setVariables(t, { OTEL_EXPORTER_OTLP_TIMEOUT: '200' })
  const result = await open(t)
  make(result, 3)
  await waitUntil(() => result.warnings.length === 1)
  t.match(result.warnings, [/ECONNREFUSED/])
})

t.test('bounds the queue and the close for a silent collector', async (t) => {
  const port = await listen(t, createServer())
  exportTo(t, { url: `http://127.0.0.1:${port}` })
  setVariables(t, {
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
  })
  const result = await open(t, 100)
  make(result, 100)
  t.match(result.warnings, [/the queue of 10 spans is full/])
  const startedMs = performance.now()
  await result.tracing.close()
  t.ok(performance.now() - startedMs < 1000)
  t.equal(result.warnings.length, 1)
  make(result, 1)
})
