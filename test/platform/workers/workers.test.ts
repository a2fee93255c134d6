import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createLog } from '../../../platform/process/log.ts'
import { explainVersion, startWorkers, type Workers } from '../../../platform/workers/workers.ts'
import { LOADER, toModule } from '../../fixtures/programs.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

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

/** Ends a process, and waits for its exit without a tick of the event loop. */
function kill(pid: number): void {
  process.kill(pid, 'SIGKILL')
  const pause = new Int32Array(new SharedArrayBuffer(4))
  const isRunning = (): boolean => !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  while (isRunning()) Atomics.wait(pause, 0, 0, PAUSE_MS)
}

t.test('a command to an exiting worker does not affect the other workers', async (t) => {
  const workers = await open(t, 2)
  const [first, second] = pids()
  kill(first!)
  workers.reload()
  await waitUntil(() => pids().length === 2 && !pids().includes(first!))
  t.ok(pids().includes(second!))
  kill(second!)
  await workers.drain()
  t.strictSame(pids(), [])
})

t.test('an aborted start leaves no worker running', async (t) => {
  const stopper = new AbortController()
  const starting = open(t, 3, stopper.signal)
  await waitUntil(() => pids().length > 0)
  stopper.abort()
  const workers = await starting
  await workers.drain()
  t.strictSame(pids(), [])
})

t.test('warns if the primary has another version', async (t) => {
  t.equal(explainVersion({}, '2.0.0'), undefined, 'started by a primary without a version')
  t.equal(explainVersion({ MX_WORKER_VERSION: '2.0.0' }, '2.0.0'), undefined)
  t.match(
    explainVersion({ MX_WORKER_VERSION: '1.9.0' }, '2.0.0'),
    /^this worker is mx 2\.0\.0, but the primary process is still 1\.9\.0: restart/,
  )
})
