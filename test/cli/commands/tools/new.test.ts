import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { ROOT } from '../../../../scripts/root.ts'
import { checkTypes, TYPESCRIPT } from '../../../fixtures/compiler.ts'
import { runMx, startMx } from '../../../fixtures/mx.ts'
import { startServerProcess } from '../../../fixtures/server-process.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const exec = promisify(execFile)

/** Links the packages that `npm install` would install. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  symlinkSync(ROOT, join(modules, 'mx-gateway'))
  symlinkSync(TYPESCRIPT, join(modules, 'typescript'))
  for (const name of ['tsx', '@types', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
}

/**
 * Compiles projects as a single program with the options of the first one, because loading the types of `mx` takes
 * seconds.
 */
async function compile(t: Test, folders: readonly string[]): Promise<void> {
  const config = join(makeTempFolder(t, 'tsconfig'), 'tsconfig.json')
  const typeRoots = [join(ROOT, 'node_modules/@types')]
  const options = { extends: join(folders[0]!, 'tsconfig.json'), include: folders }
  writeFileSync(config, JSON.stringify({ ...options, compilerOptions: { typeRoots } }))
  const tsc = join(TYPESCRIPT, 'bin/tsc')
  const { stdout } = await exec(process.execPath, [tsc, '-p', config, '--listFilesOnly'])
  for (const folder of folders) t.match(stdout, folder)
  t.same(await checkTypes(config), [])
}

async function runTests(t: Test, folder: string): Promise<void> {
  const { NODE_OPTIONS: _, TAP: __, ...env } = process.env
  const { stdout } = await exec('npm', ['test'], { cwd: folder, env })
  t.match(stdout, /^# pass [1-9]/m, 'npm test ran tests')
}

async function create(t: Test, ...args: string[]): Promise<{ folder: string; stdout: string }> {
  const cwd = makeTempFolder(t, 'new')
  const { code, stdout, stderr } = await runMx(['new', ...args], { cwd })
  t.same([code, stderr], [0, ''])
  return { folder: join(cwd, args.at(-1)!), stdout }
}

t.test('projects created by mx new compile', async (t) => {
  const created = [await create(t, 'mail-box'), await create(t, 'plugin', 'x-served')]
  const folders = created.map(({ folder }) => folder)
  for (const folder of folders) install(folder)
  await compile(t, folders)
})

t.test('a new service passes its test and runs on a server', async (t) => {
  const { folder, stdout } = await create(t, 'mail-box')
  t.match(stdout, /^Creating service mail-box\n\nmail-box\n├── mail-box\.ts\n/)
  t.match(stdout, /\n {2}cd mail-box +open its folder\n/)
  install(folder)
  await runTests(t, folder)

  const server = await startServerProcess(t, ['--profile=test'])
  const env = { HOME: server.home, MX_ENV_LOCAL_ADDRESS: server.proxy }
  const login = ['login', '--username=admin', '--password=mx']
  t.equal((await runMx(login, { cwd: folder, env })).code, 0)
  const result = await runMx(['run', '.'], { cwd: folder, env })
  t.equal(result.code, 0, result.stderr)
  const reply = await fetch(`${server.gateway}/mail-box/call?name=John`)
  t.same(await reply.json(), { message: 'Hello John' })
  t.equal((await runMx(['kill', 'mail-box'], { cwd: folder, env })).code, 0)
})

t.test('a new plugin passes its test and runs in a gateway', async (t) => {
  const { folder } = await create(t, 'plugin', 'x-served')
  install(folder)
  await runTests(t, folder)
  const mx = startMx(['api', '--address=127.0.0.1:0'], { cwd: folder })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const { headers } = await fetch(`${await mx.url()}/`)
  t.equal(headers.get('x-x-served'), 'hello')
})

t.test('a new gateway configuration starts a gateway', async (t) => {
  const { folder, stdout } = await create(t, 'gateway', 'edge')
  t.same(readdirSync(folder).sort(), ['README.md', 'mx.yaml'])
  t.match(stdout, 'mx api explain')
  const mx = startMx(['api', '--address=127.0.0.1:0'], { cwd: folder })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  t.equal((await fetch(`${await mx.url()}/greeter/hello`)).status, 502, 'no backend is running')
})

t.test(
  'an existing folder is left unchanged, and invalid names are rejected with a hint',
  async (t) => {
    const cwd = makeTempFolder(t, 'new')
    mkdirSync(join(cwd, 'mine'))
    writeFileSync(join(cwd, 'mine/main.ts'), 'mine')
    for (const [args, code, message] of [
      [['mine'], 1, 'mx: mine already exists: choose another name, or an empty folder\n'],
      [
        ['plguin', 'a'],
        2,
        "mx: unknown template plguin, did you mean plugin? See 'mx new --help'\n",
      ],
      [['plugin'], 2, 'mx: a name is missing: mx new plugin <name>\n'],
      [[], 2, "mx: a name is missing. See 'mx new --help'\n"],
      [
        ['My_Service'],
        2,
        /^mx: a name must consist of lower-case letters and digits .* got My_Service\n$/,
      ],
    ] as const) {
      const ended = await runMx(['new', ...args], { cwd })
      t.match(ended, { code, stdout: '', stderr: message })
    }
    t.equal(readFileSync(join(cwd, 'mine/main.ts'), 'utf8'), 'mine')
    t.same(readdirSync(cwd), ['mine'])
  },
)
