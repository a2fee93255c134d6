import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { endGroup } from '../../../../adapters/runtime/process/end-processes.ts'
import { readProcess, readProcesses } from '../../../../lib/process/processes.ts'

/** A group whose shell has printed a line, so that its commands run. */
async function startGroup(
  t: Test,
  script: string,
  env = {},
): Promise<{ pid: number; exited: Promise<unknown> }> {
  const child = spawn('sh', ['-c', script], { detached: true, env: { ...process.env, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await once(child.stdout, 'data')
  return { pid: child.pid!, exited }
}

t.test('ends a group by SIGTERM', async (t) => {
  const { pid, exited } = await startGroup(t, 'sleep 1000 & echo; wait')
  t.equal(await endGroup(pid, exited, 5000), true)
  t.equal(readProcess(pid), undefined)
})

t.test('kills a group after the grace period', async (t) => {
  const script = 'trap "" TERM; (while :; do sleep 1000; done) & echo; wait; wait'
  for (const graceMs of [100, 0]) {
    const { pid, exited } = await startGroup(t, script)
    t.equal(await endGroup(pid, exited, graceMs), false)
    t.notOk((await readProcesses()).some(({ group }) => group === pid))
  }
})
