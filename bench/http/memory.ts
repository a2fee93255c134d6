import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { Rival } from '../rivals/rival.ts'
import { startRival } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { readOrigin, writeResult } from './results.ts'
import { SCENARIOS } from './scenarios.ts'
import type { Backend } from './servers/backend.ts'
import { readUsage } from './servers/processes.ts'

const IDLE_CONNECTIONS = 10_000
/** Number of connections opened at a time; smaller than any listen backlog. */
const BATCH = 100
const SETTLE_MS = 1000

/**
 * Measures resident memory after the start, and with 10 000 idle client connections that have each sent one request.
 */
export async function measureMemory(options: BenchOptions, backend: Backend): Promise<void> {
  const lines = [
    '| program | ready after ms | MiB after start | MiB with idle connections | idle connections |',
    '|---|--:|--:|--:|--:|',
  ]
  const rows: object[] = []
  for (const rival of options.rivals.filter(({ name }) => name === 'nginx' || name === 'mx')) {
    options.onStep(`memory: ${rival.name}`)
    const row = await measureOne(rival, backend)
    rows.push({ name: rival.name, version: rival.version(), ...row })
    lines.push(
      `| ${rival.title} ${rival.version()} | ${row.readyMs.toFixed(0)} | ${row.startMiB.toFixed(1)} | ${row.idleMiB.toFixed(1)} | ${row.connections} |`,
    )
  }
  const table = `${lines.join('\n')}\n`
  const title = 'Resident memory'
  const path = writeResult(
    'memory',
    title,
    readOrigin('npm run bench --', backend.describe(SCENARIOS[0]!)),
    { rows },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
}

async function measureOne(rival: Rival, backend: Backend) {
  // The automatic limit of mx reserves half of the open files for backends, which could be too low for this test.
  const wrap = (command: readonly string[]) => [
    'env',
    `MX_MAX_CONNECTIONS=${IDLE_CONNECTIONS + 1000}`,
    ...command,
  ]
  const running = await startRival(rival, SCENARIOS[0]!, backend, { wrap })
  const sockets: Socket[] = []
  try {
    await wait(SETTLE_MS)
    const startMiB = readUsage(running.program.pid).rssBytes / 1024 ** 2
    for (let i = 0; i < IDLE_CONNECTIONS; i += BATCH) {
      const opened = await Promise.allSettled(
        Array.from({ length: BATCH }, () => openIdle(running.site.port)),
      )
      sockets.push(
        ...opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
      )
    }
    await wait(SETTLE_MS)
    const connections = sockets.filter((socket) => !socket.destroyed).length
    return {
      readyMs: running.readyMs,
      startMiB,
      idleMiB: readUsage(running.program.pid).rssBytes / 1024 ** 2,
      connections,
    }
  } finally {
    for (const socket of sockets) socket.destroy()
    await running.stop()
  }
}

async function openIdle(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  const timer = setTimeout(() => socket.destroy(new Error('no response within 10 s')), 10_000)
  try {
    socket.write('GET /bench/hello HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'data')
  } finally {
    clearTimeout(timer)
  }
  return socket.on('error', () => {})
}
