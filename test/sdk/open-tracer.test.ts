import t from 'tap'
import { openTracer } from '../../sdk/open-tracer.ts'
import { exportTo, openOtlpCollector, setVariables } from '../fixtures/otlp-collector.ts'

const nothing = (): void => {}

t.test('without an endpoint there is no tracer, and what is wrong is told once', async (t) => {
  const lines: string[] = []
  const warn = (_: object, message: string): void => void lines.push(message)
  const log = { debug: nothing, info: nothing, warn, error: nothing }
  setVariables(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' })
  t.equal(await openTracer({ name: 'a' }, log), undefined)
  t.equal(await openTracer({ name: 'b' }, log), undefined)
  t.equal(lines.length, 1)
  t.match(lines[0], /no traces are exported: OTEL_EXPORTER_OTLP_ENDPOINT must be a URL/)
})

t.test(
  'services of a process share what sends their spans, until the last is closed',
  async (t) => {
    const collector = await openOtlpCollector(t)
    exportTo(t, collector)
    setVariables(t, { OTEL_BSP_SCHEDULE_DELAY: '60000' })
    const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
    const [a, b] = await Promise.all([
      openTracer({ name: 'a' }, log),
      openTracer({ name: 'b' }, log),
    ])
    a!.tracer.start('of a', { kind: 'server' }).end()
    await a!.close()
    await a!.close()
    t.equal(collector.spans.length, 0, 'b goes on')
    b!.tracer.start('of b', { kind: 'server' }).end()
    await b!.close()
    t.same(collector.spans.map(({ service }) => service).sort(), ['a', 'b'])
    t.equal(collector.requests.length, 1)
    const again = await openTracer({ name: 'c' }, log)
    again!.tracer.start('of c', { kind: 'server' }).end()
    await again!.close()
    t.equal(collector.spans.length, 3)
  },
)
