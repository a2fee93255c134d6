import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { preferOomKill } from '../../../lib/process/oom-score.ts'

const skip = !existsSync('/proc/self/oom_score_adj') && 'the system has no oom_score_adj'

t.test('a process is killed before others where memory runs out', { skip }, (t) => {
  const child = spawn('sleep', ['60'])
  t.teardown(() => child.kill('SIGKILL'))
  preferOomKill(child.pid!)
  t.equal(readFileSync(`/proc/${child.pid}/oom_score_adj`, 'utf8'), '500\n')
  t.end()
})

t.test('a process that is not there does not matter', (t) => {
  preferOomKill(2 ** 30)
  t.end()
})
