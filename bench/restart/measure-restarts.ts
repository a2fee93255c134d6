import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createRequest } from '../../cli/load/request.ts'
import { type LoadResult, runLoad } from '../../cli/load/run-load.ts'
import { ROOT } from '../rivals/rival.ts'
import { type Http2Result, runHttp2Load } from './http2-load.ts'
import { runSingleLoad, type SingleResult } from './single-load.ts'

export interface RestartOptions {
  readonly listener: 'uws' | 'node'
  readonly workers: number
  readonly restarts: number
  /** Requests per second for each kind of load: keep-alive connections, one connection per request, and HTTP/2. */
  readonly rate: number
}

export interface Restarts {
  /** Duration of each restart in milliseconds, from the signal until the old processes have stopped listening. */
  readonly durationsMs: readonly number[]
  /** Result over keep-alive connections. */
  readonly keepAlive: LoadResult
  /** Result with one connection per request. */
  readonly single: SingleResult
  /** Result over HTTP/2, where every tenth request is slow. */
  readonly http2: Http2Result
}

const MAIN = join(ROOT, 'dist/cli/main.js')
const CONNECTIONS = 16
const TIMEOUT_MS = 10_000
/** Response time of a slow request. */
const SLOW_MS = 300
const DAY_MS = 86_400_000

/** Restarts a gateway repeatedly under constant load. @throws {Error} with its log if a restart fails. */
export async function measureRestarts(options: RestartOptions): Promise<Restarts> {
  const { listener, workers, restarts, rate } = options
  const backend = createServer(({ url }, response) => {
    if (url?.endsWith('/slow')) setTimeout(() => response.end('hello'), SLOW_MS)
    else response.end('hello')
  })
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const { port } = backend.address() as AddressInfo
  const gateway = startGateway([
    '--address=127.0.0.1:0',
    `--listener=${listener}`,
    `--workers=${workers}`,
    `--backend=greeter=127.0.0.1:${port}`,
    listener === 'node' ? '--http2=cleartext' : '--http2_address=127.0.0.1:0',
  ])
  const stop = new AbortController()
  try {
    const { url, http2: http2Url = url } = await gateway.waitForMessage('gateway ready')
    const hello = `${url}/greeter/hello`
    const mixed = Array.from(
      { length: 10 },
      (_, n) => `${http2Url}/greeter/${n ? 'hello' : 'slow'}`,
    )
    const target = createRequest({
      words: [hello],
      address: '',
      headers: [],
      body: Buffer.alloc(0),
    })
    const { signal } = stop
    const loads = Promise.all([
      runLoad({
        target,
        connections: CONNECTIONS,
        durationMs: DAY_MS,
        rate,
        timeoutMs: TIMEOUT_MS,
        signal,
      }),
      runSingleLoad(hello, rate, signal),
      runHttp2Load(mixed, rate, signal),
    ])
    const durationsMs: number[] = []
    for (let n = 0; n < restarts; n++) {
      const startMs = performance.now()
      gateway.restart()
      await gateway.waitForMessage('new workers are serving; old workers finish their requests')
      durationsMs.push(performance.now() - startMs)
    }
    stop.abort()
    const [keepAlive, single, http2] = await loads
    return { durationsMs, keepAlive, single, http2 }
  } finally {
    stop.abort()
    await gateway.stop()
    backend.closeAllConnections()
    backend.close()
  }
}

/** Counts requests with any status other than 200, by outcome. */
export function countFailed({
  keepAlive,
  single,
  http2,
}: Restarts): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const outcomes of [keepAlive.failures, keepAlive.statuses, single.outcomes, http2.outcomes])
    for (const [outcome, count] of Object.entries(outcomes))
      if (outcome !== '200' && count > 0) counts[outcome] = (counts[outcome] ?? 0) + count
  return counts
}

function startGateway(words: readonly string[]) {
  const child = spawn(
    process.execPath,
    [MAIN, 'api', '--hot_restart', '--access_log=off', ...words],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const ended = once(child, 'exit')
  const lines: string[] = []
  let read = 0
  let onLine = (): void => {}
  createInterface(child.stderr).on('line', (line) => {
    lines.push(line)
    onLine()
  })
  const fail = (): never => {
    throw new Error(`the gateway did not restart:\n${lines.join('\n')}`)
  }

  return {
    /** Waits for the next log line with this message and returns its fields. */
    async waitForMessage(message: string): Promise<Record<string, unknown>> {
      for (;;) {
        for (; read < lines.length; ) {
          const line = lines[read++]!
          if (line.includes('"hot restart failed')) fail()
          if (line.includes(`"msg":"${message}"`)) return JSON.parse(line)
        }
        const next = new Promise<void>((resolve) => {
          onLine = resolve
        })
        await Promise.race([next, ended.then(fail)])
      }
    },
    restart: () => child.kill('SIGUSR2'),
    async stop(): Promise<void> {
      child.kill('SIGTERM')
      await ended
    },
  }
}
