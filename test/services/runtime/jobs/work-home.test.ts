import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readProcess } from '../../../../lib/process/processes.ts'
import { endLeftoverWork, withWorkHome } from '../../../../services/runtime/jobs/work-home.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/** A detached process of a build step, which leads its own group and whose parent has exited. */
async function startStray(t: Test, home: string): Promise<number> {
  const child = spawn('sh', ['-c', 'exec setsid sh -c "echo \\$\\$; exec sleep 60"'], {
    env: { PATH: process.env['PATH'], HOME: home },
  })
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  const pid = Number(text)
  t.teardown(() => readProcess(pid) !== undefined && process.kill(pid, 'SIGKILL'))
  return pid
}

t.test('deletes the home and kills detached processes after work', async (t) => {
  const cache = makeTempFolder(t, 'cache')
  const pids: number[] = []
  const one = withWorkHome(cache, async (home) => {
    pids.push(await startStray(t, home))
    return 'done'
  })
  t.equal(await one, 'done')
  const two = withWorkHome(cache, async (home) => {
    pids.push(await startStray(t, home))
    throw new Error('failed')
  })
  await t.rejects(two, { message: 'failed' })
  t.same(pids.map(readProcess), [undefined, undefined])
  t.same(readdirSync(join(cache, 'homes')), [])
})

t.test('ends and deletes leftover work of a killed server', async (t) => {
  const cache = makeTempFolder(t, 'cache')
  await endLeftoverWork(cache)
  const home = join(cache, 'homes', 'work-left')
  mkdirSync(home, { recursive: true })
  const pid = await startStray(t, home)
  await endLeftoverWork(cache)
  t.equal(readProcess(pid), undefined)
  t.same(readdirSync(join(cache, 'homes')), [])
})
