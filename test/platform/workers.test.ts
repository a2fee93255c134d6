import t from 'tap'
import { explainVersion } from '../../platform/workers.ts'

t.test('a process of another version than its first one says so', async (t) => {
  t.equal(explainVersion({}, '2.0.0'), undefined, 'started by one that does not tell')
  t.equal(explainVersion({ MX_WORKER_VERSION: '2.0.0' }, '2.0.0'), undefined)
  t.match(
    explainVersion({ MX_WORKER_VERSION: '1.9.0' }, '2.0.0'),
    /^this process is mx 2\.0\.0, the first one is 1\.9\.0 still: restart it/,
  )
})
