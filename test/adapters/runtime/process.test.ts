import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { readProcess } from '../../../lib/process/processes.ts'
import { testRuntime, whenState } from '../../contracts/runtime.ts'
import {
  FAILS,
  makeWorkload,
  openProcessRuntime,
  readTexts,
  SERVE_CODE,
  startRunning,
} from '../../fixtures/process-runtime.ts'
import { toNodeArgs } from '../../fixtures/programs.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const BEHAVIOURS = {
  serves: `console.log('one\\ntwo\\nthree'); require('node:http').createServer().listen(process.env.PORT)`,
  fails: `console.log('boom'); process.exitCode = 3`,
}

testRuntime(t, (t) => ({
  runtime: openProcessRuntime(t).runtime,
  toWorkload: (behaviour, changes) => makeWorkload(t, BEHAVIOURS[behaviour], changes),
}))

t.test('reports an mx instance as ready when it is registered and healthy', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const workload = makeWorkload(t, 'setInterval(() => {}, 1000)', { protocol: 'mx', instances: 2 })
  await runtime.apply(workload)
  await waitUntil(() => registrar.waiting.size === 2)
  const [one, two] = [...registrar.waiting]
  one![1]()
  t.match(await whenState(runtime, ({ ready }) => ready === 1), { status: 'starting' })
  two![1]()
  t.match(await whenState(runtime, ({ ready }) => ready === 2), { status: 'running' })
  await runtime.remove(workload)
})

t.test('restarts an instance that exits and replaces its registration', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const source = `${SERVE_CODE}; process.on('SIGUSR2', () => process.exit(7)); console.log(process.pid)`
  const workload = makeWorkload(t, source, { env: { REPLY: 'a' } })
  await startRunning(runtime, workload)
  const [address] = registrar.addresses.get('shop')!
  const crashed = whenState(runtime, ({ status }) => status === 'starting')
  process.kill(Number((await readTexts(runtime, workload, 2))[1]), 'SIGUSR2')
  t.match(await crashed, { ready: 0 })
  const state = await whenState(runtime, ({ status }) => status === 'running')
  t.match(state, { ready: 1, retries: 1 })
  t.equal(state.error, undefined)
  t.not(registrar.addresses.get('shop')![0], address)
  t.equal(registrar.addresses.get('shop')!.length, 1)
})

t.test('fails immediately if the workload cannot be started, with the reason', async (t) => {
  const { runtime } = openProcessRuntime(t, { limits: { pauseMinMs: 60_000 } })
  const workload = makeWorkload(t, SERVE_CODE)
  const { folder } = workload.program as { folder: string }
  const cases: [Partial<Workload>, RegExp][] = [
    [
      { program: { kind: 'process', folder, command: ['./nothing'] } },
      /nothing is not an executable/,
    ],
    [
      { program: { kind: 'process', folder, command: ['./main.cjs'] } },
      /main.cjs is not an executable/,
    ],
    [
      { program: { kind: 'process', folder, command: ['no-such-1'] } },
      /program no-such-1 not found in PATH/,
    ],
    [{ program: { kind: 'process', folder, command: [] } }, /the command is empty/],
    [{ program: { kind: 'process', folder: '/gone', command: ['ls'] } }, /\/gone does not exist/],
    [{ program: { kind: 'image', image: 'nginx' } }, /images are not supported/],
    [{ port: 8000, instances: 2 }, /2 instances cannot share port 8000/],
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

t.test('ends an instance that does not listen in time, and does not start another', async (t) => {
  const limits = { startMs: 300, pauseMinMs: 3_600_000, pauseMaxMs: 3_600_000 }
  const { runtime } = openProcessRuntime(t, { limits })
  await runtime.apply(makeWorkload(t, 'setInterval(() => {}, 1000); console.log("here")'))
  const { error } = await whenState(runtime, ({ status }) => status === 'error')
  t.match(error, /did not listen on port \d+ \(variable PORT\) within 0.3 s/)
})

t.test('leaves nothing behind after a workload is removed, closed or fails', async (t) => {
  const { runtime, folder } = openProcessRuntime(t)
  const workload = makeWorkload(t, SERVE_CODE)
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

t.test('keeps the log of a workload across runtimes', async (t) => {
  const { runtime, folder } = openProcessRuntime(t)
  const workload = makeWorkload(t, SERVE_CODE, {
    env: { REPLY: 'a' },
    name: '../..',
    version: 'a/b',
  })
  await startRunning(runtime, workload)
  await runtime.close()
  const { runtime: next } = openProcessRuntime(t, { folder })
  t.strictSame(await readTexts(next, workload, 1), ['up a'])
  t.strictSame(await readTexts(next, { ...workload, name: '..', version: '../a/b' }, 0), [])
  await startRunning(next, workload)
  t.strictSame(await readTexts(next, workload, 2), ['up a', 'up a'])
})

t.test(
  'leaves no processes when the server is killed, immediately or at the next start',
  async (t) => {
    const folder = makeTempFolder(t, 'runtime')
    // The system does not end a process that left its group and its parent.
    const source = `${SERVE_CODE}
    const stray = require('node:child_process').spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    console.log(process.pid + ' ' + stray.pid)`
    const workload = makeWorkload(t, source, { env: { REPLY: 'a' } })
    const program = new URL('../../fixtures/runtime-process.ts', import.meta.url)
    const server = spawn(process.execPath, toNodeArgs(program, folder, JSON.stringify(workload)))
    t.teardown(() => server.kill('SIGKILL'))
    await once(server.stdout, 'data')
    const logs = join(folder, 'logs')
    const file = join(logs, readdirSync(logs)[0]!, '0000000001.log')
    await waitUntil(() => / o \d+ \d+\n/.test(readFileSync(file, 'utf8')))
    const [, pid, strayPid] = / o (\d+) (\d+)\n/.exec(readFileSync(file, 'utf8'))!.map(Number)
    t.ok(readProcess(pid!))
    t.ok(readProcess(strayPid!))
    server.kill('SIGKILL')
    await once(server, 'exit')
    await waitUntil(() => readProcess(pid!) === undefined)
    t.ok(readProcess(strayPid!))
    const { runtime, warnings, registrar } = openProcessRuntime(t, { folder })
    await startRunning(runtime, workload)
    t.equal(readProcess(strayPid!), undefined)
    t.match(warnings, [/ended processes left over from an earlier server/])
    t.equal(readdirSync(join(folder, 'copies')).length, 1)
    t.equal(registrar.addresses.get('shop')!.length, 1)
  },
)
