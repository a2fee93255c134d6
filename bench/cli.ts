// Duration of commands, compared with starting Node.js alone in the same interleaved run: `npm run bench cli [--
// runs]`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOrigin, writeResult } from './http/results.ts'
import { findPort, startProgram } from './http/servers/processes.ts'
import { waitUntilReady } from './http/servers/ready.ts'
import { type Goal, guardGoals } from './report/goals.ts'
import { median } from './report/median.ts'
import { ROOT } from './rivals/rival.ts'

const [runs = 20] = process.argv.slice(2).map(Number)
const MX = join(ROOT, 'dist/cli/bundle/mx.js')

/** Commands with their time limit in milliseconds; Node.js alone has no limit. */
const COMMANDS: readonly (readonly [label: string, args: readonly string[], maxMs?: number])[] = [
  ['node', ['-e', '0']],
  ['mx --help', [MX, '--help'], 80],
  ['mx services', [MX, 'services'], 150],
  ['mx helloworld --name=x', [MX, 'helloworld', '--name=x'], 200],
]

const home = mkdtempSync(join(tmpdir(), 'mx-bench-cli-'))
const [gateway, proxy, web] = [await findPort(), await findPort(), await findPort()]
const env = { ...process.env, HOME: home, MX_ENV_LOCAL_ADDRESS: `127.0.0.1:${proxy}` }

/** Measures the duration of a command in milliseconds. @throws {Error} if it fails. */
async function measure(argv: readonly string[]): Promise<number> {
  const startMs = performance.now()
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${argv.join(' ')} exited with status ${code}`)
  return performance.now() - startMs
}

async function waitUntilRegistered(): Promise<void> {
  const endMs = Date.now() + 15_000
  for (;;) {
    const reply = await fetch(`http://127.0.0.1:${gateway}/registry/getService?service=helloworld`)
    if (reply.ok) return
    if (Date.now() > endMs) throw new Error('helloworld was not registered within 15 s')
  }
}

const server = startProgram(
  [
    ...[process.execPath, MX, 'server', '--profile=test', `--address=127.0.0.1:${gateway}`],
    ...[`--proxy_address=127.0.0.1:${proxy}`, `--web_address=127.0.0.1:${web}`],
  ],
  [],
)
try {
  await waitUntilReady(server, `http://127.0.0.1:${gateway}/auth/keys`)
  const service = spawn(process.execPath, [join(ROOT, 'dist/examples/helloworld/main.js')], {
    env: { ...env, MX_PROXY: `127.0.0.1:${proxy}`, MX_AUTH_ID: 'admin', MX_AUTH_SECRET: 'mx' },
    stdio: 'ignore',
  })
  try {
    await waitUntilRegistered()
    const durations = COMMANDS.map((): number[] => [])
    for (let run = 0; run < runs; run++)
      for (const [i, [, argv]] of COMMANDS.entries()) durations[i]!.push(await measure(argv))
    const rows = COMMANDS.map(([label, , atMost], i) => ({
      ...{
        label,
        ms: Math.round(median(durations[i]!)),
        slowestMs: Math.round(Math.max(...durations[i]!)),
      },
      atMost,
    }))
    const head = ['| command | median, ms | max, ms | limit, ms |', '|---|--:|--:|--:|']
    const lines = rows.map(
      ({ label, ms, slowestMs, atMost }) => `| ${label} | ${ms} | ${slowestMs} | ${atMost ?? ''} |`,
    )
    const table = `${[...head, ...lines].join('\n')}\n`
    const title = 'Duration of commands'
    const path = writeResult(
      'cli',
      title,
      readOrigin('npm run bench cli --', 'none'),
      { runs, rows },
      table,
    )
    process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
    guardGoals(
      rows.flatMap(({ label, ms, atMost }): readonly Goal[] =>
        atMost === undefined ? [] : [{ label: `${label}, ms`, value: ms, atMost }],
      ),
    )
  } finally {
    service.kill()
  }
} finally {
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}
