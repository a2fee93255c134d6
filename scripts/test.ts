/**
 * Runs compiled tests: all tests, the specified files and folders, or
 *   --unit           tests that start no processes
 *   --changed[=ref]  tests that changes since a commit can affect. @default HEAD
 *   --again          retry failed files once, as in a run of all tests
 * Unit tests share processes (`scripts/test-group.ts`); every other file runs in its own process.
 * Prints TAP to a pipe, or one line per file and the failures to a terminal. The slowest files are listed at the end.
 * Tests that require µWebSockets are skipped on Node.js versions that cannot load it.
 * A run of all tests retries failed files once: `docs/decisions/2026-11-26-a-failed-test-runs-once-more.md`.
 * For the reason not to use the `tap` command, see `docs/decisions/2026-11-22-tests-run-compiled.md`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { loadUws } from '../core/listener/uws/listener.ts'
import { ROOT } from './root.ts'
import { listAffected, needsUws, startsProcesses } from './test-imports.ts'

const TIMEOUT_SECONDS = 120
const GROUP_SIZE = 60
const SLOWEST = 20
const RETRY_SCRIPT = join(ROOT, 'scripts/run-again.sh')
const GROUP = join(ROOT, 'dist/scripts/test-group.js')
const TEST = /^test\/.*\.test\.tsx?$/
/** Folders that contain no unit tests. */
const NOT_UNIT = /^test\/(?:docs|e2e|examples|load|spec)\//

interface Run {
  readonly name: string
  readonly sources: readonly string[]
}

/** Sources of tests, relative to the repository. @throws {Error} for a path without tests */
function listTests(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap(listTestsOf))].sort()
}

function listTestsOf(path: string): readonly string[] {
  const full = resolve(path)
  if (!existsSync(full)) throw new Error(`not found: ${path}. Name files or folders below test/`)
  const files = statSync(full).isDirectory()
    ? readdirSync(full, { recursive: true, encoding: 'utf8' }).map((name) => join(full, name))
    : [full]
  const tests = files.map((file) => relative(ROOT, file)).filter((file) => TEST.test(file))
  if (tests.length === 0) throw new Error(`${path} has no test/**/*.test.ts`)
  return tests
}

function toCompiled(source: string): string {
  const file = join(ROOT, 'dist', source.replace(/tsx?$/, 'js'))
  if (!existsSync(file)) throw new Error(`${source} is not compiled: run \`npm run compile\``)
  return file
}

/** Files that differ from a commit, including new files. */
function listChanged(ref: string): readonly string[] {
  const git = (...words: string[]): string[] =>
    execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
  return [...git('diff', '--name-only', ref), ...git('ls-files', '--others', '--exclude-standard')]
}

const isUnit = (source: string): boolean => !NOT_UNIT.test(source) && !startsProcesses(source)

/** Groups tests by process. Unit tests share processes, all others run alone. */
function toRuns(sources: readonly string[]): readonly Run[] {
  const alone = sources.filter((source) => !isUnit(source))
  const shared = sources.filter(isUnit)
  const groups = Math.ceil(shared.length / GROUP_SIZE)
  const size = Math.ceil(shared.length / groups)
  return [
    ...Array.from({ length: groups }, (_, index) => ({
      name: `unit tests ${index + 1} of ${groups}`,
      sources: shared.slice(index * size, (index + 1) * size),
    })),
    ...alone.map((source) => ({ name: source, sources: [source] })),
  ]
}

/**
 * Starts a run with up to `times` attempts. `env` resets the Node.js options, because tap would add a loader for
 * coverage that doubles the duration of a file.
 */
function start(
  { name, sources }: Run,
  times: 1 | 2,
  onEnd: (source: string, ms: number) => void,
): void {
  const isGroup = sources.length > 1
  const options = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`
  // Source maps take up to a tenth of a test's duration, so a retry enables them only in its second attempt.
  const words =
    times === 2
      ? [RETRY_SCRIPT, name, process.execPath]
      : [process.execPath, '--enable-source-maps']
  const run = t.spawn('env', [options, ...words, isGroup ? GROUP : toCompiled(sources[0]!)], {
    name,
    cwd: ROOT,
    env: {
      ...process.env,
      TAP_TIMEOUT: String(TIMEOUT_SECONDS),
      ...(isGroup && { MX_TESTS: sources.join(' ') }),
    },
    timeout: times * TIMEOUT_SECONDS * 1000,
    at: null,
  })
  if (isGroup) run.subtest?.parser.on('assert', ({ name, time }) => onEnd(name, time ?? 0))
  else void run.then(() => onEnd(name, run.subtest?.time ?? 0))
}

/** Filters TAP for a terminal: one line per file, failures with details, and totals. */
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
      details !== undefined ||
      isFailure ||
      /^(ok |# (?!Subtest)| +# failed at first| +ok \d+ - test\/)/.test(line)
    )
  }
}

function selectTests(words: readonly string[]): readonly string[] {
  const paths = words.filter((word) => !word.startsWith('--'))
  let tests = listTests(paths.length > 0 ? paths : [join(ROOT, 'test')])
  for (const word of words.filter((word) => word.startsWith('--'))) {
    const [flag, ref = 'HEAD'] = word.split('=')
    if (flag === '--unit') tests = tests.filter(isUnit)
    else if (flag === '--changed') tests = listAffected(tests, listChanged(ref))
    else if (flag !== '--again')
      throw new Error(`unknown flag ${word}, expected --unit, --changed[=commit] or --again`)
  }
  return tests
}

function main(words: readonly string[]): void {
  const selected = selectTests(words)
  for (const source of selected) toCompiled(source)
  const hasUws = loadUws() !== undefined
  const tests = hasUws ? selected : selected.filter((source) => !needsUws(source))
  t.setTimeout(0)
  // One more than the number of processors, because a test waits for servers and timers for a sixth of its duration.
  t.jobs = availableParallelism() + 1
  if (process.stdout.isTTY) {
    t.register()
    const isVisible = createFilter()
    createInterface(t.pipe(new PassThrough())).on('line', (line) => {
      if (isVisible(line)) console.log(line)
    })
  }
  const times: [source: string, ms: number][] = []
  t.teardown(() => {
    const slowest = times.sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
    for (const [source, ms] of slowest)
      t.comment(`${(ms / 1000).toFixed(1).padStart(6)} s  ${source}`)
  })
  const runs = words.length === 0 || words.includes('--again') ? 2 : 1
  for (const source of selected)
    if (!tests.includes(source))
      t.pass(source, { skip: `no µWebSockets for Node.js ${process.version}` })
  for (const run of toRuns(tests)) start(run, runs, (source, ms) => times.push([source, ms]))
}

try {
  main(process.argv.slice(2))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
