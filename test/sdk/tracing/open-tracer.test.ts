import { DiagLogLevel, diag } from '@opentelemetry/api'
import t from 'tap'
import { openTracer } from '../../../sdk/tracing/open-tracer.ts'
import { exportTo, openOtlpCollector, setVariables } from '../../fixtures/otlp-collector.ts'

const noop = (): void => {}

t.test('with an invalid endpoint there is no tracer, and one warning is logged', async (t) => {
  const lines: string[] = []
  const warn = (_: object, message: string): void => void lines.push(message)
  const log = { debug: noop, info: noop, warn, error: noop }
  setVariables(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' })
  t.equal(await openTracer({ name: 'a' }, log), undefined)
  t.equal(await openTracer({ name: 'b' }, log), undefined)
  t.equal(lines.length, 1)
  t.match(lines[0], /traces are not exported: OTEL_EXPORTER_OTLP_ENDPOINT must be a URL/)
})

t.test('invalid variables are logged once with their names, and the others apply', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  setVariables(t, {
    OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.pem',
    OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '/nowhere/key.pem',
    OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'zip',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=1,secret',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_BSP_SCHEDULE_DELAY: 'soon',
    OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: 'few',
    OTEL_TRACES_SAMPLER: 'half',
  })
  const lines: string[] = []
  const warn = (_: object, message: string): void => void lines.push(message)
  const log = { debug: noop, info: noop, warn, error: noop }
  for (const name of ['a', 'b']) {
    const opened = await openTracer({ name }, log)
    opened!.tracer.start('operation', { kind: 'server' }).end()
    await opened!.close()
  }
  t.equal(collector.spans.length, 2)
  const expected = [
    /^OTEL_EXPORTER_OTLP_CERTIFICATE must be a readable file, got "\/nowhere\/ca.pem"/,
    /^OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY must be /,
    /OTEL_EXPORTER_OTLP_TIMEOUT, expected a number/,
    /OTEL_EXPORTER_OTLP_COMPRESSION is invalid, expected 'none' or 'gzip'/,
    /^OTEL_EXPORTER_OTLP_HEADERS must be pairs/,
    /^OTEL_EXPORTER_OTLP_PROTOCOL is http\/protobuf/,
    /OTEL_BSP_SCHEDULE_DELAY, expected a number/,
    /OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, expected a number/,
    /^OTEL_TRACES_SAMPLER must be one of/,
  ]
  for (const each of expected)
    t.equal(lines.filter((line) => each.test(line)).length, 1, String(each))
  t.equal(lines.length, expected.length, lines.join('\n'))
  t.notMatch(lines.join(), 'secret')
})

t.test('a diagnostic logger of the program is retained and receives the warnings', async (t) => {
  const logged: string[] = []
  const onWarn = (message: string): void => void logged.push(message)
  diag.setLogger(
    { error: onWarn, warn: onWarn, info: noop, debug: noop, verbose: noop },
    DiagLogLevel.WARN,
  )
  t.teardown(() => diag.disable())
  exportTo(t, { url: 'http://127.0.0.1:1' })
  setVariables(t, { OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/other.pem' })
  const lines: string[] = []
  const warn = (_: object, message: string): void => void lines.push(message)
  const opened = await openTracer({ name: 'a' }, { debug: noop, info: noop, warn, error: noop })
  await opened!.close()
  diag.warn('still there')
  t.same(logged, ['Failed to read root certificate file', 'still there'])
  t.same(lines, [])
})

t.test('services of a process share an exporter until the last one closes', async (t) => {
  const collector = await openOtlpCollector(t)
  exportTo(t, collector)
  setVariables(t, { OTEL_BSP_SCHEDULE_DELAY: '60000' })
  const log = { debug: noop, info: noop, warn: noop, error: noop }
  const [a, b] = await Promise.all([openTracer({ name: 'a' }, log), openTracer({ name: 'b' }, log)])
  a!.tracer.start('of a', { kind: 'server' }).end()
  await a!.close()
  await a!.close()
  t.equal(collector.spans.length, 0, 'b is still open')
  b!.tracer.start('of b', { kind: 'server' }).end()
  await b!.close()
  t.same(collector.spans.map(({ service }) => service).sort(), ['a', 'b'])
  t.equal(collector.requests.length, 1)
  const reopened = await openTracer({ name: 'c' }, log)
  reopened!.tracer.start('of c', { kind: 'server' }).end()
  await reopened!.close()
  t.equal(collector.spans.length, 3)
})
