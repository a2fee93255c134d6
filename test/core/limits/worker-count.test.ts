import t from 'tap'
import { readWorkerCount } from '../../../core/limits/worker-count.ts'

t.test('the worker count is 1 without a valid MX_WORKER_COUNT', async (t) => {
  for (const MX_WORKER_COUNT of [undefined, '', 'x', '0', '1', '1.5', '-2'])
    t.equal(readWorkerCount({ MX_WORKER_COUNT }), 1)
  t.equal(readWorkerCount({ MX_WORKER_COUNT: '4' }), 4)
})
