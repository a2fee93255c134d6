import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { readProcess } from '../../../lib/process/processes.ts'
import { testRuntime, whenState } from '../../contracts/runtime.ts'
import {
  ANSWERS,
  FAILS,
  makeWorkload,
  openProcessRuntime,
  readTexts,
  startRunning,
} from '../../fixtures/process-runtime.ts'
import { toNodeWords } from '../../fixtures/programs.ts'
import { until } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const BEHAVIOURS = {
  serves: `console.log('one\\ntwo\\nthree'); require('node:http').createServer().listen(process.env.PORT)`,
  fails: `console.log('boom'); process.exitCode = 3`,
}

testRuntime(t, (t) => ({
  runtime: openProcessRuntime(t).runtime,
  toWorkload: (behaviour, changes) => makeWorkload(t, BEHAVIOURS[behaviour], changes),
}))

t.test('a copy of protocol mx serves once the platform says that it does', async (t) => {
  const { runtime, doors } = openProcessRuntime(t)
  const workload = makeWorkload(t, 'setInterval(() => {}, 1000)', { protocol: 'mx', instances: 2 })
  await runtime.apply(workload)
  await until(() => doors.waiting.size === 2)
  const [one, two] = [...doors.waiting]
  one![1]()
  t.match(await whenState(runtime, ({ ready }) => ready === 1), { status: 'starting' })
  two![1]()
  t.match(await whenState(runtime, ({ ready }) => ready === 2), { status: 'running' })
  await runtime.remove(workload)
})

t.test('a copy that ends by itself is started again, and takes its own place', async (t) => {
  const { runtime, doors } = openProcessRuntime(t)
  const source = `${ANSWERS}; process.on('SIGUSR2', () => process.exit(7)); console.log(process.pid)`
  const workload = makeWorkload(t, source, { env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  const [address] = doors.addresses.get('shop')!
  const crashed = whenState(runtime, ({ status }) => status === 'starting')
  process.kill(Number((await readTexts(runtime, workload, 2))[1]), 'SIGUSR2')
  t.match(await crashed, { ready: 0 })
  const state = await whenState(runtime, ({ status }) => status === 'running')
  t.match(state, { ready: 1, retries: 1 })
  t.equal(state.error, undefined)
  t.not(doors.addresses.get('shop')![0], address)
  t.equal(doors.addresses.get('shop')!.length, 1)
})

t.test('what cannot be run at all is in error at once, with why', async (t) => {
  const { runtime } = openProcessRuntime(t, { limits: { pauseMinMs: 60_000 } })
  const workload = makeWorkload(t, ANSWERS)
  const { folder } = workload.program as { folder: string }
  const cases: [Partial<Workload>, RegExp][] = [
    [{ program: { kind: 'process', folder, command: ['./nothing'] } }, /nothing is no program/],
    [{ program: { kind: 'process', folder, command: ['./main.cjs'] } }, /main.cjs is no program/],
    [{ program: { kind: 'process', folder, command: ['no-such-1'] } }, /no program no-such-1 in/],
    [{ program: { kind: 'process', folder, command: [] } }, /the command is empty/],
    [{ program: { kind: 'process', folder: '/gone', command: ['ls'] } }, /\/gone is not there/],
    [{ program: { kind: 'image', image: 'nginx' } }, /it is an image/],
    [{ port: 8000, instances: 2 }, /its 2 copies cannot all listen at port 8000/],
  ]
  for (const [index, [changes, error]] of cases.entries()) {
    const revision = String(index)
    await runtime.apply({ ...workload, ...changes, revision })
    const state = await whenState(
      runtime,
      (state) => state.revision === revision && state.status === 'error',
    )
    t.match(state.error, error)
  }
})

t.test('a copy that never takes calls is a failure after a while, and ended', async (t) => {
  const { runtime } = openProcessRuntime(t, { limits: { startMs: 300 } })
  await runtime.apply(makeWorkload(t, 'setInterval(() => {}, 1000); console.log("here")'))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.match(error, /took no connections at port \d+, which PORT tells it, within 0.3 s/)
})

t.test('nothing is left of what was removed, closed or failed', async (t) => {
  const { runtime, folder } = openProcessRuntime(t)
  const workload = makeWorkload(t, ANSWERS)
  await startRunning(runtime, workload)
  t.equal(readdirSync(join(folder, 'copies')).length, 1)
  t.equal(readdirSync(join(folder, 'logs')).length, 1)
  await runtime.apply({ ...makeWorkload(t, FAILS), name: 'fails' })
  await whenState(runtime, ({ status }) => status === 'error')
  await runtime.remove(workload)
  await runtime.remove({ ...workload, name: 'fails' })
  t.strictSame(readdirSync(join(folder, 'copies')), [])
  t.strictSame(readdirSync(join(folder, 'logs')), [])
  await startRunning(runtime, workload)
  await runtime.close()
  t.strictSame(readdirSync(join(folder, 'copies')), [])
  await t.rejects(async () => runtime.apply(workload), /the runtime is closed/)
})

t.test('lines outlive the runtime, and are those of the workload', async (t) => {
  const { runtime, folder } = openProcessRuntime(t)
  const workload = makeWorkload(t, ANSWERS, { env: { REPLY: 'a' }, name: '../..', version: 'a/b' })
  await startRunning(runtime, workload)
  await runtime.close()
  const { runtime: next } = openProcessRuntime(t, { folder })
  t.strictSame(await readTexts(next, workload, 1), ['up a'])
  t.strictSame(await readTexts(next, { ...workload, name: '..', version: '../a/b' }, 0), [])
  await startRunning(next, workload)
  t.strictSame(await readTexts(next, workload, 2), ['up a', 'up a'])
})

t.test(
  'a server that is killed leaves nothing running: neither at once, nor where the next starts',
  async (t) => {
    const folder = makeTempFolder(t, 'runtime')
    // What leaves its group, and forgets its parent, is not ended by the system.
    const source = `${ANSWERS}
    const stray = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    console.log(process.pid + ' ' + stray.pid)`
    const workload = makeWorkload(t, source, { env: { REPLY: 'a' } })
    const program = new URL('../../fixtures/runtime-process.ts', import.meta.url)
    const server = spawn(process.execPath, toNodeWords(program, folder, JSON.stringify(workload)))
    t.teardown(() => server.kill('SIGKILL'))
    await once(server.stdout, 'data')
    const logs = join(folder, 'logs')
    const file = join(logs, readdirSync(logs)[0]!, '0000000001.log')
    await until(() => / o \d+ \d+\n/.test(readFileSync(file, 'utf8')))
    const [, pid, stray] = / o (\d+) (\d+)\n/.exec(readFileSync(file, 'utf8'))!.map(Number)
    t.ok(readProcess(pid!))
    t.ok(readProcess(stray!))
    server.kill('SIGKILL')
    await once(server, 'exit')
    await until(() => readProcess(pid!) === undefined)
    t.ok(readProcess(stray!))
    const { runtime, warnings, doors } = openProcessRuntime(t, { folder })
    await startRunning(runtime, workload)
    t.equal(readProcess(stray!), undefined)
    t.match(warnings, [/processes that a server before this one left were ended/])
    t.equal(readdirSync(join(folder, 'copies')).length, 1)
    t.equal(doors.addresses.get('shop')!.length, 1)
  },
)
