import t from 'tap'
import { readWorkerCount } from '../../../core/limits/worker-count.ts'

t.test('a process is alone where nothing else was said', async (t) => {
  for (const MX_WORKER_COUNT of [undefined, '', 'x', '0', '1', '1.5', '-2'])
    t.equal(readWorkerCount({ MX_WORKER_COUNT }), 1)
  t.equal(readWorkerCount({ MX_WORKER_COUNT: '4' }), 4)
})
