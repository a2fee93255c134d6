// How soon `mx server` is ready, and what it takes: `npm run bench:server [-- starts]`. Beside it the gateway alone, in the same run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findPort, type Program, readUsage, startProgram } from './http/processes.ts'
import { waitUntilReady } from './http/ready.ts'
import { readOrigin, writeResult } from './http/results.ts'
import { ROOT } from './rivals/rival.ts'

const [starts = 5] = process.argv.slice(2).map(Number)
const MAIN = join(ROOT, 'dist/cli/main.js')
/** Until what the start left over is collected. */
const SETTLE_MS = 1500
const MEMORY_MIB = 150
const READY_MS = 1000

interface Measured {
  readonly readyMs: number
  readonly mib: number
}

/** Starts a command on a free port, and asks it for a path until it answers. */
async function measure(words: readonly string[], path: string): Promise<Measured> {
  const port = await findPort()
  const command = [process.execPath, MAIN, ...words, `--address=127.0.0.1:${port}`]
  const program: Program = startProgram(command, [])
  try {
    const readyMs = await waitUntilReady(program, `http://127.0.0.1:${port}${path}`)
    await wait(SETTLE_MS)
    return { readyMs, mib: readUsage(program.pid).rssBytes / 1024 ** 2 }
  } finally {
    await program.stop()
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}

const folder = mkdtempSync(join(tmpdir(), 'mx-bench-server-'))
const ports = async (): Promise<string[]> => [
  `--proxy_address=127.0.0.1:${await findPort()}`,
  `--web_address=127.0.0.1:${await findPort()}`,
]
const inFolder = async (name: string): Promise<string[]> => [
  'server',
  `--data_dir=${join(folder, name)}`,
  ...(await ports()),
]
/** Ready is who has looked into its store. */
const LOOK = '/store/databases'
const kinds: readonly [what: string, start: (n: number) => Promise<Measured>][] = [
  ['mx api', () => measure(['api'], '/')],
  ['mx server, first start', async (n) => measure(await inFolder(`${n}`), LOOK)],
  ['mx server, state there', async () => measure(await inFolder('0'), LOOK)],
  [
    'mx server --profile=test',
    async () => measure(['server', '--profile=test', ...(await ports())], LOOK),
  ],
]

try {
  const rows = []
  for (const [what, start] of kinds) {
    const all: Measured[] = []
    for (let n = 0; n < starts; n++) all.push(await start(n))
    const readyMs = Math.round(median(all.map((one) => one.readyMs)))
    const slowestMs = Math.round(Math.max(...all.map((one) => one.readyMs)))
    const mib = Math.round(Math.max(...all.map((one) => one.mib)))
    rows.push({ what, readyMs, slowestMs, mib })
  }
  const lines = rows.map(
    ({ what, readyMs, slowestMs, mib }) => `| ${what} | ${readyMs} | ${slowestMs} | ${mib} |`,
  )
  const head = ['| what | ready after ms, median | slowest | MiB, most |', '|---|--:|--:|--:|']
  const table = `${[...head, ...lines].join('\n')}\n`
  const title = 'Start of the server'
  const origin = readOrigin('npm run bench:server --', 'none')
  const path = writeResult('server-start', title, origin, { starts, rows }, table)
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  const servers = rows.slice(1)
  if (servers.some(({ readyMs, mib }) => readyMs > READY_MS || mib > MEMORY_MIB)) {
    process.stdout.write(`mx server must be ready within ${READY_MS} ms, with ${MEMORY_MIB} MiB\n`)
    process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
