import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { makeSource, runBuilt } from '../../../fixtures/build-source.ts'

t.test('applies the settings of mx.yaml to build and run', async (t) => {
  const { folder, build, output } = makeSource(t, {
    'mx.yaml': `
command: [cat, made.txt]
build: [echo first > made.txt, 'echo "second $WORD" >> made.txt']
env: { COLOUR: blue, COUNT: 3 }
instances: 2
resources: { memory: 256mb, cpus: 0.5 }
protocol: http
port: 8080
`,
    'main.js': 'not this one',
  })
  const built = await build()
  t.strictSame(built, {
    folder,
    command: ['cat', 'made.txt'],
    env: { COLOUR: 'blue', COUNT: '3' },
    instances: 2,
    resources: { memoryBytes: 256 * 1024 * 1024, cpus: 0.5 },
    protocol: 'http',
    port: 8080,
    language: 'node',
  })
  t.equal(runBuilt(built), 'first\nsecond \n')
  t.match(output(), /^\$ echo first > made\.txt$/m)

  const overridden = await build({
    overrides: { command: ['echo', 'mine'], env: { COUNT: '4' }, resources: { cpus: 2 } },
  })
  t.match(overridden, {
    command: ['echo', 'mine'],
    env: { COLOUR: 'blue', COUNT: '4' },
    resources: { memoryBytes: 256 * 1024 * 1024, cpus: 2 },
    protocol: 'http',
  })
})

t.test('runs the web process of a Procfile', async (t) => {
  const { build } = makeSource(t, { Procfile: 'worker: no\nweb: echo $PORT\n' })
  const built = await build()
  t.match(built, { command: ['/bin/sh', '-c', 'echo $PORT'], protocol: 'http' })
  t.equal(runBuilt({ ...built, env: { PORT: '7' } }), '7\n')
  const withBothFiles = makeSource(t, { Procfile: 'web: echo x\n', 'mx.yaml': 'protocol: mx\n' })
  t.match(await withBothFiles.build(), {
    command: ['echo', 'x'],
    protocol: 'mx',
    language: 'command',
  })
})

t.test('accepts a folder or a file as entrypoint', async (t) => {
  const { folder, build } = makeSource(t, {
    'services/one/main.js': 'console.log("one")',
    'services/two.js': 'console.log("two")',
  })
  const one = await build({ entrypoint: 'services/one' })
  t.equal(one.folder, join(folder, 'services/one'))
  t.equal(runBuilt(one), 'one\n')
  const two = await build({ entrypoint: './services/two.js' })
  t.equal(two.folder, join(folder, 'services'))
  t.equal(runBuilt(two), 'two\n')
  await t.rejects(build({ entrypoint: 'services/none' }), {
    code: 400,
    message: 'the source does not contain services/none',
  })
  await t.rejects(build({ entrypoint: '../other' }), {
    code: 400,
    message: /the entrypoint has the path/,
  })
})

t.test('rejects a source without a program to run', async (t) => {
  const { build, output } = makeSource(t, { 'README.md': 'x', 'lib/helper.js': '' })
  await t.rejects(build(), { code: 400, id: 'runtime', message: /^nothing to run in the folder: / })
  t.match(output(), /nothing to run/, 'including in its output')
  await t.rejects(build({ entrypoint: 'README.md' }), { message: /^nothing to run in README\.md/ })
})

t.test('fails the build with the last output of a failed step', async (t) => {
  const { build, output, cacheFolder } = makeSource(t, {
    'mx.yaml': 'command: ./x\nbuild: [echo fine, "echo to find out >&2; exit 7", touch never]\n',
  })
  await t.rejects(build(), {
    code: 400,
    message: /^build failed: echo to find out >&2; exit 7: exit status 7\nto find out$/,
  })
  t.match(output(), /fine\n.*to find out\n.*build failed/s)
  t.strictSame(readdirSync(join(cacheFolder, 'homes')), [], 'its home is deleted')
})

t.test(
  'runs a build with a separate home folder and without the environment of the server',
  async (t) => {
    process.env['MX_BUILD_SECRET'] = 'secret'
    t.teardown(() => delete process.env['MX_BUILD_SECRET'])
    const { folder, build, cacheFolder } = makeSource(t, {
      'mx.yaml': 'command: x\nbuild: [env > env.txt, "[ -d $HOME ] && touch $HOME/there"]\n',
    })
    await build()
    const env = readFileSync(join(folder, 'env.txt'), 'utf8')
    t.match(env, new RegExp(`^HOME=${cacheFolder}/homes/work-`, 'm'))
    t.match(env, new RegExp(`^TMPDIR=${cacheFolder}/homes/work-`, 'm'))
    t.notMatch(env, /MX_|secret/)
  },
)

t.test('ends a build on timeout or cancellation', async (t) => {
  const { folder, build } = makeSource(t, {
    'mx.yaml': 'command: x\nbuild: ["touch started; trap : TERM; sleep 60; sleep 60"]\n',
  })
  await t.rejects(build({ timeoutMs: 500 }), {
    code: 408,
    message: 'the build timed out after 500ms',
  })
  const abort = new AbortController()
  const building = build({ signal: abort.signal })
  while (!existsSync(join(folder, 'started'))) await pause(10)
  abort.abort(new Error('given up'))
  await t.rejects(building, { message: 'given up' })
})

t.test('truncates long output and quotes its end in the error', async (t) => {
  const { build, output } = makeSource(t, {
    'mx.yaml': 'command: x\nbuild: ["yes | head -c 6000000; echo the end; exit 1"]\n',
  })
  await t.rejects(build(), { message: /y\nthe end$/ })
  t.ok(output().length < 4_200_000)
  // Does not use t.match, whose diff of 4 MB takes minutes.
  t.ok(output().includes('\n... output truncated\n'))
})
