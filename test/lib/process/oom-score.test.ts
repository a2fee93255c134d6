import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { preferOomKill } from '../../../lib/process/oom-score.ts'

const skip = !existsSync('/proc/self/oom_score_adj') && 'the system has no oom_score_adj'

t.test('preferOomKill sets the OOM score adjustment of a process to 500', { skip }, (t) => {
  const child = spawn('sleep', ['60'])
  t.teardown(() => child.kill('SIGKILL'))
  preferOomKill(child.pid!)
  t.equal(readFileSync(`/proc/${child.pid}/oom_score_adj`, 'utf8'), '500\n')
  t.end()
})

t.test('a missing process is ignored', (t) => {
  preferOomKill(2 ** 30)
  t.end()
})
