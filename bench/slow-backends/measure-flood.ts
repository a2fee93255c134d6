import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Cores, findPort, readUsage, startProgram } from '../http/servers/processes.ts'
import { waitUntilOpen, waitUntilReady } from '../http/servers/ready.ts'
import { toNodeCommand } from '../rivals/rival.ts'

/** Kind of flood, and behavior of gateway and backend. */
export interface Flood {
  readonly listener: 'uws' | 'node'
  /** `unfinished` opens WebSockets that send all but the last byte of a message. */
  readonly kind: 'uploads' | 'sockets' | 'unfinished'
  /** Number of concurrent connections. */
  readonly count: number
  /** When the backend starts reading: never, after two seconds, or immediately. */
  readonly pace: 'never' | 'late' | 'prompt'
  /** Size of an upload or a message in MiB. */
  readonly mib: number
  /** Maximum duration. The flood ends earlier if all uploads are complete. */
  readonly seconds: number
}

export interface FloodFigures {
  readonly rssMiB: number
  readonly peakMiB: number
  /** Number of regular GETs during the flood. */
  readonly gets: number
  readonly failedGets: number
  readonly medianMs: number
  readonly maxMs: number
  /** Number of flood connections by outcome: status, close code, or `cut`. */
  readonly outcomes: Readonly<Record<string, number>>
}

const MIB = 1024 * 1024
const GET_EVERY_MS = 20
const WARM_UP_PIECES = 64
const ANY_CORE: Cores = []

/** Starts a gateway, floods it, and measures concurrent GETs. */
export async function measureFlood(flood: Flood): Promise<FloodFigures> {
  const { listener, kind, count, pace, mib, seconds } = flood
  const backendPort = await findPort()
  const backend = startProgram(
    toNodeCommand('slow-backends/backend', String(backendPort)),
    ANY_CORE,
  )
  await waitUntilOpen(backend, backendPort)
  const port = await findPort()
  const gateway = startProgram(
    toNodeCommand(
      '../cli/main',
      ...['api', '--handler=web', `--listener=${listener}`, `--address=127.0.0.1:${port}`],
      ...['--access_log=off', '--log_level=error', '--backend', `b=127.0.0.1:${backendPort}`],
      ...(process.env['BENCH_FLAGS']?.split(' ') ?? []),
    ),
    ANY_CORE,
  )
  const url = `http://127.0.0.1:${port}/b/prompt`
  try {
    await waitUntilReady(gateway, url)
    await warmUp(url)
    const clients = startProgram(
      toNodeCommand(
        'slow-backends/flood',
        ...[String(port), kind, String(count), `/b/${pace}`, String(mib)],
      ),
      ANY_CORE,
    )
    const startMs = performance.now()
    const times: number[] = []
    let failedGets = 0
    const agent = new Agent({ keepAlive: true })
    while (performance.now() - startMs < seconds * 1000 && !clients.exited()) {
      const requestedMs = performance.now()
      if (!(await isSuccessful(url, agent))) failedGets++
      times.push(performance.now() - requestedMs)
      await wait(GET_EVERY_MS)
    }
    agent.destroy()
    const { rssBytes, peakBytes } = readUsage(gateway.pid)
    if (!clients.exited()) {
      process.kill(clients.pid, 'SIGTERM')
      while (!clients.exited()) await wait(GET_EVERY_MS)
    }
    const outcomes = JSON.parse(clients.log() || '{}') as Record<string, number>
    await clients.stop()
    times.sort((a, b) => a - b)
    return {
      rssMiB: Math.round(rssBytes / MIB),
      peakMiB: Math.round(peakBytes / MIB),
      gets: times.length,
      failedGets,
      medianMs: times[times.length >> 1] ?? Number.NaN,
      maxMs: times.at(-1) ?? Number.NaN,
      outcomes,
    }
  } finally {
    await gateway.stop()
    await backend.stop()
  }
}

/**
 * Sends uploads and WebSocket messages to a backend that reads them, so that measurements exclude compilation by V8.
 */
async function warmUp(url: string): Promise<void> {
  const piece = Buffer.alloc(MIB, 'x')
  for (let i = 0; i < WARM_UP_PIECES; i++) {
    await (await fetch(url, { method: 'POST', body: piece })).arrayBuffer()
  }
  const socket = new WebSocket(url.replace('http', 'ws'))
  await once(socket, 'open')
  for (let i = 0; i < WARM_UP_PIECES; i++) {
    await new Promise((resolve) => socket.send(piece, resolve))
  }
  socket.terminate()
}

async function isSuccessful(url: string, agent: Agent): Promise<boolean> {
  const request = get(url, { agent, timeout: 20_000 })
  request.on('timeout', () => request.destroy())
  try {
    const [reply] = await once(request, 'response')
    reply.resume()
    await once(reply, 'end')
    return reply.statusCode === 200
  } catch {
    return false
  }
}
