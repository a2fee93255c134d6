import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../../../../scripts/root.ts'
import { makeSource, runBuilt } from '../../../../fixtures/build-source.ts'

t.test('runs the program that package.json declares, or a conventional file', async (t) => {
  const cases: readonly (readonly [Record<string, string>, readonly string[]])[] = [
    [{ 'main.js': '' }, ['main.js']],
    [{ 'index.mjs': '', 'src/main.js': '' }, ['index.mjs']],
    [{ 'src/index.js': '' }, ['src/index.js']],
    [{ 'package.json': '{"main": "lib/x.js"}', 'lib/x.js': '', 'main.js': '' }, ['lib/x.js']],
    [{ 'package.json': '{"main": "gone.js"}', 'main.js': '' }, ['main.js']],
  ]
  for (const [files, args] of cases) {
    const built = await makeSource(t, files).build()
    t.match(built, { language: 'node', protocol: 'mx' })
    t.strictSame(built.command.slice(1), args)
    t.ok(['node', process.execPath].includes(built.command[0]!))
  }
})

t.test('builds and starts with the scripts of the package', async (t) => {
  const { build, output } = makeSource(t, {
    'package.json': JSON.stringify({
      type: 'module',
      scripts: { build: 'echo "console.log(7)" > made.js', start: 'node made.js --x' },
      main: 'other.js',
    }),
    'other.js': '',
  })
  const built = await build()
  t.strictSame(built.command, ['node', 'made.js', '--x'])
  t.equal(runBuilt(built), '7\n')
  t.match(output(), /^\$ npm run build$/m)

  const shell = { 'package.json': '{"scripts": {"start": "A=1 node -p process.env.A"}}' }
  t.equal(runBuilt(await makeSource(t, shell).build()), '1\n')

  const typescript = {
    'package.json': '{"scripts": {"start": "node main.ts"}}',
    'main.ts': 'console.log("typed" as string)',
  }
  t.equal(runBuilt(await makeSource(t, typescript).build()), 'typed\n')
})

t.test('skips the build script if the project defines another step', async (t) => {
  const { build, output } = makeSource(t, {
    'package.json': '{"scripts": {"build": "exit 1"}}',
    'mx.yaml': 'build: echo instead\n',
    'main.js': '',
  })
  await build()
  t.match(output(), /instead/)
})

t.test('rejects a package without a program to start', async (t) => {
  const { build } = makeSource(t, { 'package.json': '{"dependencies": {}}' })
  await t.rejects(build(), { code: 400, message: /^nothing to run/ })
})

const COMPILED = existsSync(join(ROOT, 'dist/sdk/index.js'))

t.test(
  'runs the example separately or within the repository',
  { skip: COMPILED ? false : 'mx is not compiled' },
  async (t) => {
    const single = makeSource(t, {})
    cpSync(join(ROOT, 'examples/helloworld'), single.folder, { recursive: true })
    const inside = makeSource(t, {})
    for (const path of ['package.json', 'package-lock.json', 'examples/helloworld'])
      cpSync(join(ROOT, path), join(inside.folder, path), { recursive: true })

    const programs = [
      await single.build(),
      await inside.build({ entrypoint: 'examples/helloworld' }),
      await inside.build({ entrypoint: 'examples/helloworld/main.ts' }),
    ]
    t.equal(single.output() + inside.output(), '', 'no package is installed')
    for (const { command, folder, env } of programs) {
      const child = spawn(command[0]!, command.slice(1), {
        cwd: folder,
        env: { PATH: process.env['PATH'], MX_SERVICE_ADDRESS: '127.0.0.1:0', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      t.teardown(() => child.kill('SIGKILL'))
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          text += chunk
          if (text.includes('service ready')) child.kill('SIGTERM')
        })
      await once(child, 'close')
      t.match(text, /"msg":"service ready"/)
    }
  },
)
