import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createLog } from '../../../platform/process/log.ts'
import { explainVersion, startWorkers, type Workers } from '../../../platform/workers/workers.ts'
import { LOADER, toModule } from '../../fixtures/programs.ts'
import { until } from '../../fixtures/raw-backend.ts'

const PROGRAM = new URL('../../fixtures/worker-process.ts', import.meta.url)
const PAUSE_MS = 5

async function open(t: Test, count: number, signal?: AbortSignal): Promise<Workers> {
  cluster.setupPrimary({
    exec: fileURLToPath(toModule(PROGRAM)),
    args: [],
    execArgv: [...LOADER],
    silent: true,
  })
  const starting = startWorkers({
    count,
    address: { host: '127.0.0.1', port: 0 },
    config: () => undefined,
    log: createLog('silent'),
    drainTimeoutMs: () => 30_000,
    ...(signal && { signal }),
  })
  t.teardown(async () => (await starting.catch(() => undefined))?.drain())
  return starting
}

function pids(): number[] {
  return Object.values(cluster.workers ?? {}).flatMap((worker) => worker?.process.pid ?? [])
}

/** Ends a process, and waits, without a turn of the event loop, until it has. */
function kill(pid: number): void {
  process.kill(pid, 'SIGKILL')
  const pause = new Int32Array(new SharedArrayBuffer(4))
  const isRunning = (): boolean => !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  while (isRunning()) Atomics.wait(pause, 0, 0, PAUSE_MS)
}

t.test('a worker that ends in the moment it is told something ends nobody else', async (t) => {
  const workers = await open(t, 2)
  const [first, second] = pids()
  kill(first!)
  workers.reload()
  await until(() => pids().length === 2 && !pids().includes(first!))
  t.ok(pids().includes(second!))
  kill(second!)
  await workers.drain()
  t.strictSame(pids(), [])
})

t.test('a start that is given up leaves none running', async (t) => {
  const stopper = new AbortController()
  const starting = open(t, 3, stopper.signal)
  await until(() => pids().length > 0)
  stopper.abort()
  const workers = await starting
  await workers.drain()
  t.strictSame(pids(), [])
})

t.test('a process of another version than its first one says so', async (t) => {
  t.equal(explainVersion({}, '2.0.0'), undefined, 'started by one that does not tell')
  t.equal(explainVersion({ MX_WORKER_VERSION: '2.0.0' }, '2.0.0'), undefined)
  t.match(
    explainVersion({ MX_WORKER_VERSION: '1.9.0' }, '2.0.0'),
    /^this process is mx 2\.0\.0, the first one is 1\.9\.0 still: restart it/,
  )
})
