import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Runtime, Workload } from '../../../../core/contracts/runtime.ts'
import { readProcess, signal } from '../../../../lib/process/processes.ts'
import { openSandbox } from '../../../../lib/process/sandbox/sandbox.ts'
import { whenState } from '../../../contracts/runtime.ts'
import {
  makeWorkload,
  openProcessRuntime,
  readTexts,
  SERVE_CODE,
  startRunning,
} from '../../../fixtures/process-runtime.ts'
import { toNodeArgs } from '../../../fixtures/programs.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const EXIT_THREAD = process.arch === 'arm64' ? 93 : 60
const THREAD = `threads->create(sub { sleep 1000 }); syscall(${EXIT_THREAD}, 0)`
/**
 * Starts three processes without environment variables in their own sessions, and prints their ids: one in the view of
 * its program, one with another root, one without its first thread. 0 if the system does not allow it.
 */
const ORPHANS = `exec 3>&1 >/dev/null 2>&1
note() { until grep -q "$1" /proc/$!/stat; do sleep 0.01; done; echo $! >&3; }
setsid env -i sleep 1000 3>&- & note '(sleep)'
set -- setsid env -i unshare -Ur chroot /usr
if "$@" /bin/true; then "$@" /bin/sleep 1000 3>&- & note '(sleep)'; else echo 0 >&3; fi
if perl -Mthreads -e 1; then setsid env -i perl -Mthreads -e '${THREAD}' 3>&- & note ' Z '; else echo 0 >&3; fi`

/** Runs a program that serves requests and executes the given code. */
async function startProgram(t: Test, source: string, changes: Partial<Workload> = {}) {
  const opened = openProcessRuntime(t, { limits: { drainMs: 500, processes: 20 } })
  const workload = makeWorkload(t, `${SERVE_CODE}\n${source}`, changes)
  await startRunning(opened.runtime, workload)
  return { ...opened, workload }
}

/** Reads `count` numbers from the output of an instance. */
async function readNumbers(
  runtime: Runtime,
  workload: Workload,
  count: number,
): Promise<readonly number[]> {
  for (;;) {
    const texts = await readTexts(runtime, workload, count)
    const numbers = texts.map(Number).filter(Number.isInteger)
    if (numbers.length >= count) return numbers
    await delay(10)
  }
}

t.test('isolates the environment, home and temporary files of an instance', async (t) => {
  process.env['MX_AUTH_SECRET'] = 'secret'
  process.env['DATABASE_PASSWORD'] = 'secret'
  t.teardown(() => {
    delete process.env['MX_AUTH_SECRET']
    delete process.env['DATABASE_PASSWORD']
  })
  const { runtime, folder } = openProcessRuntime(t)
  const source = `${SERVE_CODE}; console.log(JSON.stringify({ env: process.env, cwd: process.cwd() }))`
  const workload = makeWorkload(t, source, {
    env: { MX_PROXY: 'a', TZ: 'UTC', MX_INSTANCE: 'b', PORT: '1' },
  })
  await startRunning(runtime, workload)
  const { env, cwd } = JSON.parse((await readTexts(runtime, workload, 2))[1]!)
  const { PATH, LANG, HOME, TMPDIR, PORT, MX_INSTANCE, ...others } = env
  t.strictSame(others, { MX_PROXY: 'a', TZ: 'UTC' })
  t.equal(PATH, process.env['PATH'])
  t.match(MX_INSTANCE, /^[0-9a-f]{12}$/)
  t.not(PORT, '1')
  t.equal(HOME, `${folder}/copies/${MX_INSTANCE}/home`)
  t.equal(TMPDIR, `${folder}/copies/${MX_INSTANCE}/tmp`)
  for (const workFolder of [HOME, TMPDIR]) t.equal(statSync(workFolder).mode & 0o777, 0o700)
  t.match(workload.program, { folder: cwd })
})

t.test(
  'starts an instance without inherited files or core dumps, in its own process group',
  async (t) => {
    const folder = makeTempFolder(t, 'runtime')
    const file = join(makeTempFolder(t, 'limits'), 'limits')
    const script = `{ ls -l /proc/$$/fd; ulimit -c; ps -o pgid= -p $$; echo $$; } >${file}; exec node main.cjs`
    const { program, ...others } = makeWorkload(t, SERVE_CODE)
    const workload = { ...others, program: { ...program, command: ['sh', '-c', script] } }
    const source = new URL('../../../fixtures/runtime-process.ts', import.meta.url)
    const secret = openSync(import.meta.filename, 'r')
    t.teardown(() => closeSync(secret))
    const server = spawn(process.execPath, toNodeArgs(source, folder, JSON.stringify(workload)), {
      stdio: [
        'ignore',
        'pipe',
        'inherit',
        ...Array.from({ length: 37 }, () => 'ignore' as const),
        secret,
      ],
    })
    t.teardown(() => server.kill('SIGKILL'))
    await once(server.stdout!, 'data')
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const files = lines.flatMap((line) => / (\d+) -> (.+)/.exec(line)?.slice(1) ?? [])
    // Node.js itself hides inherited files with low numbers.
    t.equal(files[files.indexOf('40') + 1], '/dev/null')
    t.notOk(files.some((file) => file.includes(import.meta.filename)))
    const [core, group, pid] = lines.slice(-3).map(Number)
    t.equal(core, 0)
    t.equal(group, pid)
  },
)

t.test('kills an instance that ignores SIGTERM and logs it', async (t) => {
  const { runtime, workload, warnings } = await startProgram(
    t,
    `process.on('SIGTERM', () => console.log('no')); console.log(process.pid)`,
  )
  const [pid] = await readNumbers(runtime, workload, 1)
  await runtime.remove(workload)
  t.equal(readProcess(pid!), undefined)
  t.match(warnings, [/service killed: not ended 500 ms after SIGTERM/])
})

t.test('explains how to fix a program whose instance exits or does not listen', async (t) => {
  const failure = async (source: string, limits: { readonly startMs?: number }) => {
    const { runtime, registrar } = openProcessRuntime(t, { limits })
    await runtime.apply(makeWorkload(t, source, { protocol: 'mx' }))
    const { error } = await whenState(runtime, ({ error }) => error !== undefined)
    t.ok(registrar.removedInstances.length > 0, 'the instance is deregistered')
    return error
  }
  t.match(await failure('', {}), /^exited with code 0: a service must run until it is stopped/)
  const idle = 'setInterval(() => {}, 1000)'
  t.match(await failure(idle, { startMs: 300 }), /plain HTTP program requires protocol http/)
})

t.test('ends children and escaped processes with an instance', async (t) => {
  const { runtime, workload } = await startProgram(
    t,
    `const { spawn } = require('node:child_process')
    const stdio = ['ignore', 'inherit', 'inherit']
    console.log(spawn('sleep', ['1000'], { stdio }).pid)
    console.log(spawn('sleep', ['1000'], { stdio, detached: true }).pid)
    console.log(spawn('sh', ['-c', 'trap "" TERM; sleep 1000; true'], { stdio }).pid)`,
  )
  const numbers = await readNumbers(runtime, workload, 3)
  for (const pid of numbers) t.ok(readProcess(pid))
  await runtime.remove(workload)
  for (const pid of numbers) t.equal(readProcess(pid), undefined)
})

t.test(
  'kills isolated orphans that left their view or their first thread, without a control group',
  { skip: process.getuid?.() !== 0 && 'requires root' },
  async (t) => {
    const folder = makeTempFolder(t, 'runtime')
    const userIds = { first: 200_000, last: 200_009 }
    const sandboxFolder = join(folder, 'isolation')
    const isolation = openSandbox({
      ...{ folder: sandboxFolder, hidden: folder, userIds, installed: [] },
    })
    t.ok((await isolation).sandbox)
    const cgroupFolder = join(folder, 'no-cgroup')
    const { runtime } = openProcessRuntime(t, { folder, isolation, cgroupFolder })
    // Their parent ends immediately, between two scans of the descendants.
    const source = `require('node:child_process').execFile('/bin/sh', ['-c', ${JSON.stringify(ORPHANS)}],
      (_, pids) => console.log(pids.trim()))`
    const [first, other] = [{ name: 'shop' }, { name: 'other' }].map((changes) =>
      makeWorkload(t, `${SERVE_CODE}\n${source}`, changes),
    ) as [Workload, Workload]
    const orphans: (readonly number[])[] = []
    for (const workload of [first, other]) {
      await startRunning(runtime, workload)
      const pids = (await readNumbers(runtime, workload, 3)).filter((pid) => pid > 0)
      t.teardown(() => pids.map((pid) => signal(pid, 'SIGKILL')))
      for (const pid of pids) t.ok(readProcess(pid))
      orphans.push(pids)
    }
    const [ownPids, [neighbor]] = orphans as [readonly number[], readonly number[]]
    await runtime.remove(first)
    for (const pid of ownPids) t.equal(readProcess(pid), undefined)
    t.ok(readProcess(neighbor!), 'the orphan of another instance continues in its view')
    await runtime.remove(other)
    for (const pid of orphans.flat()) t.equal(readProcess(pid), undefined)
  },
)

t.test('sends one SIGTERM to a program behind a shell and waits', async (t) => {
  const { runtime } = openProcessRuntime(t)
  const source = `${SERVE_CODE}; process.on('SIGTERM', () => {
    console.log('request')
    setTimeout(() => process.exit(console.log('done')), 200)
  })`
  const secondWorkload = makeWorkload(t, source)
  const program = { ...secondWorkload.program, command: ['sh', '-c', 'node main.cjs & wait'] }
  const workload = { ...secondWorkload, program } as Workload
  await startRunning(runtime, workload)
  const texts: string[] = []
  const reading = (async () => {
    const query = { follow: true, signal: new AbortController().signal }
    for await (const { text } of runtime.logs(workload, query)) texts.push(text)
  })()
  await runtime.close()
  await reading
  t.strictSame(texts.slice(1), ['request', 'done'])
})

t.test('finishes the calls of a program without graceful shutdown first', async (t) => {
  const { runtime, registrar } = openProcessRuntime(t)
  const source = `require('node:http').createServer((_, reply) => {
    console.log('called')
    setTimeout(() => reply.end('done'), 500)
  }).listen(process.env.PORT)`
  const workload = makeWorkload(t, source)
  await startRunning(runtime, workload)
  // The address is called directly, because the registrar of this test does not know the call.
  const calling = fetch(`http://${registrar.addresses.get('shop')![0]}/`, {
    headers: { connection: 'close' },
  })
  await readTexts(runtime, workload, 1)
  await runtime.remove(workload)
  t.equal(await (await calling).text(), 'done')
})

t.test('kills an instance beyond its memory limit and reports it', async (t) => {
  const { runtime, workload } = await startProgram(
    t,
    `process.on('SIGTERM', () => {})
    setTimeout(() => {
      console.log('allocating')
      globalThis.retained = Buffer.alloc(200 * 1024 * 1024, 1)
    }, 50)`,
    { resources: { memoryBytes: 128 * 1024 * 1024 } },
  )
  const { error } = await whenState(runtime, ({ error }) => error !== undefined)
  // The reported peak may have been measured during the fork.
  const [, usedMiB] = /used (\d+) MiB of memory, limit 128 MiB; last line: allocating/.exec(error!)!
  t.ok(Number(usedMiB) > 128)
  await runtime.remove(workload)
})

t.test('kills an instance with too many processes', async (t) => {
  const { runtime } = await startProgram(
    t,
    `for (let i = 0; i < 30; i++) require('node:child_process').spawn('sleep', ['1000'])`,
  )
  const { error } = await whenState(runtime, ({ error }) => error !== undefined)
  t.match(error, /had \d\d processes, limit 20/)
})

t.test('prefers an instance over the server when the machine runs out of memory', async (t) => {
  const { runtime, workload } = await startProgram(t, 'console.log(process.pid)')
  const [pid] = await readNumbers(runtime, workload, 1)
  const serverScore = Number(readFileSync('/proc/self/oom_score_adj', 'utf8'))
  t.ok(Number(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')) >= Math.max(500, serverScore))
})
