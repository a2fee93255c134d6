import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { killByEnv } from '../../../lib/process/kill-by-env.ts'
import { readProcess } from '../../../lib/process/processes.ts'

/** Starts a process with a child in another session. */
async function startPair(t: Test, mark: string): Promise<number> {
  const script = 'setsid sh -c "echo; exec sleep 1000" & wait'
  const child = spawn('sh', ['-c', script], { env: { ...process.env, MX_TEST_PAIR: mark } })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child.pid!
}

t.test('kills processes with the environment variable in any session', async (t) => {
  const pid = await startPair(t, 'c0ffee')
  const other = await startPair(t, 'c0ffee0')
  t.equal((await killByEnv(['MX_TEST_PAIR=c0ffee'])).size, 2)
  t.equal(readProcess(pid), undefined)
  t.ok(readProcess(other))
  t.equal((await killByEnv(['MX_TEST_PAIR=c0ffee0', 'MX_TEST_PAIR=none'])).size, 2)
})
