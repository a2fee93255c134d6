/**
 * Runs compiled tests, a process each: all of them, or those of the source files and folders it is given.
 * Piped, it writes TAP; on a terminal only a line for every file, and what failed.
 * When all run, one that fails runs once more: `docs/decisions/2026-11-26-a-failed-test-runs-once-more.md`.
 * Why not tap's own command: `docs/decisions/2026-11-22-tests-run-compiled.md`.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { ROOT } from './root.ts'

const TIMEOUT_SECONDS = 120
const RUN_AGAIN = join(ROOT, 'scripts/run-again.sh')
const TEST = /^test\/.*\.test\.ts$/

/** Sources of tests, relative to the repository. @throws {Error} when a path leads to none. */
function listTests(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap(listTestsOf))].sort()
}

function listTestsOf(path: string): readonly string[] {
  const full = resolve(path)
  if (!existsSync(full)) throw new Error(`${path} is not there: name files or folders below test/`)
  const files = statSync(full).isDirectory()
    ? readdirSync(full, { recursive: true, encoding: 'utf8' }).map((name) => join(full, name))
    : [full]
  const tests = files.map((file) => relative(ROOT, file)).filter((file) => TEST.test(file))
  if (tests.length === 0) throw new Error(`${path} holds no test: they are test/**/*.test.ts`)
  return tests
}

function toCompiled(source: string): string {
  const file = join(ROOT, 'dist', source.replace(/ts$/, 'js'))
  if (!existsSync(file)) throw new Error(`${source} is not compiled: run \`npm run compile\``)
  return file
}

/**
 * Starts a test, `runs` times at most until it passes. `env`: tap would add a loader to the options of node, for
 * coverage, which doubles the time a file takes.
 */
function spawnTest(source: string, file: string, runs: 1 | 2): Promise<unknown> {
  const options = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`
  // Reading source maps takes up to a tenth of a test's time: only the second run does.
  const words =
    runs === 2 ? [RUN_AGAIN, source, process.execPath] : [process.execPath, '--enable-source-maps']
  return t.spawn('env', [options, ...words, file], {
    name: source,
    cwd: ROOT,
    env: { ...process.env, TAP_TIMEOUT: String(TIMEOUT_SECONDS) },
    timeout: runs * TIMEOUT_SECONDS * 1000,
    at: null,
  })
}

/** Leaves of the lines of TAP what somebody who watches wants: a line a file, failures with their details, the sums. */
function createFilter(): (line: string) => boolean {
  let isFailure = false
  let details: string | undefined
  return (line) => {
    if (details !== undefined) {
      if (line === `${details}...`) details = undefined
      return true
    }
    const indent = /^ */.exec(line)![0]
    if (isFailure && line.trim() === '---') details = indent
    isFailure = line.startsWith('not ok ', indent.length)
    return (
      details !== undefined || isFailure || /^(ok |# (?!Subtest)| +# failed at first)/.test(line)
    )
  }
}

function main(paths: readonly string[]): void {
  const tests = listTests(paths.length > 0 ? paths : [join(ROOT, 'test')])
  const compiled = tests.map((source) => [source, toCompiled(source)] as const)
  t.setTimeout(0)
  // One more than there are processors: a test waits for servers and timers a sixth of its time.
  t.jobs = availableParallelism() + 1
  if (process.stdout.isTTY) {
    t.register()
    const isWanted = createFilter()
    createInterface(t.pipe(new PassThrough())).on('line', (line) => {
      if (isWanted(line)) console.log(line)
    })
  }
  const runs = paths.length > 0 ? 1 : 2
  for (const [source, file] of compiled) void spawnTest(source, file, runs)
}

try {
  main(process.argv.slice(2))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
