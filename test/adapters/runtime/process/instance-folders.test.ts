import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  createInstanceFolder,
  endLeftoverInstances,
} from '../../../../adapters/runtime/process/instance-folders.ts'
import { readProcess } from '../../../../lib/process/processes.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

function startSleep(t: Test, env: NodeJS.ProcessEnv = {}): number {
  const child = spawn('sleep', ['1000'], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...env },
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child.pid!
}

t.test('ends leftover processes by stored id or mark and removes their folders', async (t) => {
  const folder = makeTempFolder(t, 'copies')
  const [noted, marked, other] = [startSleep(t), startSleep(t, { MX_INSTANCE: 'b' }), startSleep(t)]
  createInstanceFolder(folder, 'a').store(noted)
  createInstanceFolder(folder, 'b')
  t.equal(await endLeftoverInstances(folder), 2)
  await waitUntil(() => readProcess(noted) === undefined)
  t.equal(readProcess(marked), undefined)
  t.ok(readProcess(other))
  t.strictSame(readdirSync(folder), [])
  t.equal(await endLeftoverInstances(folder), 0)
})

t.test('spares a process that reuses the stored id', async (t) => {
  const folder = makeTempFolder(t, 'copies')
  const pid = startSleep(t)
  for (const [name, change] of Object.entries({ start: '1', boot: 'another' })) {
    createInstanceFolder(folder, name).store(pid)
    const file = join(folder, name, 'process')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...stored, [name]: change }))
  }
  createInstanceFolder(folder, 'torn')
  writeFileSync(join(folder, 'torn', 'process'), '{"pid":')
  t.equal(await endLeftoverInstances(folder), 0)
  t.ok(readProcess(pid))
  t.strictSame(readdirSync(folder), [])
})

t.test('creates a missing folder', async (t) => {
  const folder = join(makeTempFolder(t, 'copies'), 'a', 'b')
  t.equal(await endLeftoverInstances(folder), 0)
  t.ok(existsSync(folder))
})
