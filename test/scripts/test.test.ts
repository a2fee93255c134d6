import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { skipUnless } from '../fixtures/servers.ts'

/** Creates a repository with the runner and these tests by name; an undefined one is not compiled. */
async function makeRepository(
  t: Test,
  tests: Readonly<Record<string, string | undefined>>,
  part: 'e2e' | 'lib' = 'e2e',
) {
  const compiled = Object.entries(tests).flatMap(([name, text]) =>
    text === undefined ? [] : [[`${name}.test.js`, `import t from 'tap'\n${text}`] as const],
  )
  const folder = t.testdir({
    'package.json':
      '{ "name": "mx-gateway", "type": "module", "exports": { "./package.json": "./package.json" } }',
    node_modules: t.fixture('symlink', join(ROOT, 'node_modules')),
    scripts: { 'run-again.sh': t.fixture('symlink', join(ROOT, 'scripts/run-again.sh')) },
    test: {
      'readme.md': '',
      [part]: Object.fromEntries(Object.keys(tests).map((name) => [`${name}.test.ts`, ''])),
    },
    // The tap that is bundled with the compiled tests.
    dist: {
      node_modules: t.fixture('symlink', join(ROOT, 'dist/node_modules')),
      test: { [part]: { ...Object.fromEntries(compiled), 'stale.test.js': 'fail()' } },
    },
  })
  const outdir = join(folder, 'dist/scripts')
  const options = { bundle: true, packages: 'external', format: 'esm', platform: 'node' } as const
  const entryPoints = ['test', 'test-group'].map((name) => join(ROOT, `scripts/${name}.ts`))
  await build({ entryPoints, outdir, ...options })
  // Settings of the current runner must not affect the runner under test.
  const env = Object.entries(process.env).filter(([name]) => !/^(TAP|NODE_OPTIONS$)/.test(name))
  return (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(outdir, 'test.js'), ...args],
      {
        cwd: folder,
        env: Object.fromEntries(env),
        encoding: 'utf8',
      },
    )
    return { status, stderr, files: stdout.match(/^(not )?ok .*\.test\.ts/gm), stdout }
  }
}

t.test('runs the compiled tests that have a source, and prints totals', async (t) => {
  const run = await makeRepository(t, {
    one: `t.pass('1')\nt.pass('2')`,
    two: `t.pass('3', { skip: 'no server' })`,
  })
  const { status, files, stdout } = run()
  t.same(files, ['ok 1 - test/e2e/one.test.ts', 'ok 2 - test/e2e/two.test.ts'])
  t.match(stdout, /^# \{ total: 3, pass: 2, skip: 1 \}$/m)
  t.equal(status, 0)
  t.same(run('test/e2e/two.test.ts').files, ['ok 1 - test/e2e/two.test.ts'])
  t.same(run('test/e2e', 'test/e2e/two.test.ts').files, files, 'each test runs once')
})

t.test(
  'a test that fails, crashes or hangs counts as a failure, and other tests continue',
  async (t) => {
    const run = await makeRepository(t, {
      fails: 't.equal(1, 2)',
      crashes: `throw new Error('at once')`,
      hangs: 't.setTimeout(300)\nt.test(() => new Promise(() => setInterval(() => {}, 1000)))',
      works: 't.pass()',
    })
    const { status, files, stdout, stderr } = run()
    t.same(files, [
      'not ok 1 - test/e2e/crashes.test.ts',
      'not ok 2 - test/e2e/fails.test.ts',
      'not ok 3 - test/e2e/hangs.test.ts',
      'ok 4 - test/e2e/works.test.ts',
    ])
    t.match(stdout, /^# \{ total: \d+, pass: 1, fail: \d+ \}$/m)
    t.match(stderr, /at once/)
    t.equal(status, 1)
  },
)

t.test('a full run repeats a failed test once and prints both results', async (t) => {
  const run = await makeRepository(t, {
    seldom: `import { existsSync, writeFileSync } from 'node:fs'
      const isFirst = !existsSync('seen')
      writeFileSync('seen', '')
      t.notOk(isFirst, 'the second time')`,
  })
  t.equal(run('test/e2e').status, 1, 'tests selected by path run once')
  rmSync(join(t.testdirName, 'seen'))
  const { status, files, stdout } = run()
  t.same(files, ['ok 1 - test/e2e/seldom.test.ts'])
  t.match(stdout, /^ *# failed at first: test\/e2e\/seldom\.test\.ts$/m)
  t.match(stdout, /^ *# \| not ok 1 - the second time$/m)
  t.match(stdout, /^# \{ total: 1, pass: 1 \}$/m)
  t.equal(status, 0)
})

t.test('tests run with --enable-source-maps only, without a loader', async (t) => {
  const run = await makeRepository(t, {
    options: `t.equal(process.env.NODE_OPTIONS, '')\nt.strictSame(process.execArgv, ['--enable-source-maps'])`,
  })
  t.equal(run().status, 0)
})

t.test(
  'a path without tests, or with an uncompiled one, exits 1 with a one-line message',
  async (t) => {
    const run = await makeRepository(t, { one: 't.pass()', new: undefined })
    const cases = [
      ['test/none.test.ts', 'not found: test/none.test.ts. Name files or folders below test/\n'],
      ['test/readme.md', 'test/readme.md has no test/**/*.test.ts\n'],
      ['dist', 'dist has no test/**/*.test.ts\n'],
      ['test', 'test/e2e/new.test.ts is not compiled: run `npm run compile`\n'],
    ] as const
    for (const [path, stderr] of cases) t.match(run(path), { status: 1, stderr, stdout: '' })
  },
)

t.test('unit tests share a process, even after a test that fails, crashes or hangs', async (t) => {
  const run = await makeRepository(
    t,
    {
      crashes: `throw new Error('at once')`,
      fails: 't.equal(1, 2)',
      hangs: 't.setTimeout(300)\nt.test(() => new Promise(() => setInterval(() => {}, 1000)))',
      process: `t.test('a', async (t) => t.match(process.argv[1], 'test-group.js'))`,
    },
    'lib',
  )
  const { status, stdout } = run('--unit')
  t.same(stdout.match(/^ {4}(not )?ok .*\.test\.ts/gm), [
    '    not ok 1 - test/lib/crashes.test.ts',
    '    not ok 2 - test/lib/fails.test.ts',
    '    not ok 3 - test/lib/hangs.test.ts',
    '    ok 4 - test/lib/process.test.ts',
  ])
  t.equal(status, 1)
})

t.test('only the failed files of the unit tests run again', async (t) => {
  const run = await makeRepository(
    t,
    {
      seldom: `import { existsSync, writeFileSync } from 'node:fs'
        const isFirst = !existsSync('seen')
        writeFileSync('seen', '')
        t.notOk(isFirst, 'the second time')`,
      works: 't.pass()',
    },
    'lib',
  )
  const { status, stdout } = run()
  t.same(stdout.match(/^ {4}(not )?ok .*\.test\.ts/gm), ['    ok 1 - test/lib/seldom.test.ts'])
  t.equal(status, 0)
})

t.test('rejects an unknown flag with an error that names the flags', async (t) => {
  const run = await makeRepository(t, { one: 't.pass()' })
  t.match(run('--units'), {
    status: 1,
    stderr: 'unknown flag --units, expected --unit, --changed[=commit] or --again\n',
  })
})

t.test('a Node.js without µWebSockets skips the tests that need it, with a message', async (t) => {
  const node = skipUnless(t, 'node24')
  if (node === undefined) return
  const test = 'test/core/listener/uws/exchange.test.ts'
  const { status, stdout } = spawnSync(node, ['dist/scripts/test.js', test], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  })
  t.match(stdout, new RegExp(`^ok 1 - ${test} # SKIP no µWebSockets for Node.js v24`, 'm'))
  t.equal(status, 0)
})
