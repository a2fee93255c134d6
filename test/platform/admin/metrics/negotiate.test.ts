import t from 'tap'
import { prefersOpenMetrics } from '../../../../platform/admin/metrics/negotiate.ts'

const OPEN = 'application/openmetrics-text'

t.test('selects OpenMetrics by Accept, otherwise the Prometheus text format', async (t) => {
  const prometheus2 = `${OPEN};version=1.0.0,${OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`
  const prometheus3 = `${OPEN};version=1.0.0;escaping=allow-utf-8;q=0.5,${OPEN};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`
  for (const accept of [
    ...[OPEN, `${OPEN}; version=1.0.0; charset=utf-8`, prometheus2, prometheus3],
    ...[`${OPEN.toUpperCase()}`, `text/html,${OPEN}`, `*/*,${OPEN}`],
  ])
    t.ok(prefersOpenMetrics(accept), accept)
  for (const accept of [
    ...['', '*/*', 'text/plain', 'text/html,*/*;q=0.8', `${OPEN};version=0.0.1`],
    ...[`${OPEN};q=0`, `${OPEN};q=0.1,text/plain`, `${OPEN};q=x`, ',,;;q=1', `x${OPEN}`],
  ])
    t.notOk(prefersOpenMetrics(accept), accept)
})
