import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { installPackage } from '../fixtures/installed-package.ts'
import { skipUnless } from '../fixtures/servers.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// scripts/try-package.sh performs the same checks with npm and a registry.
const { folder, home, modules, main: MX, env } = installPackage(t)
const ANY = ['--address=127.0.0.1:0', '--admin_address=none', '--access_log=off']

const run = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [MX, ...args], { env, cwd: home })).stdout

/** Starts mx; returns the fields of its first line with this message, and earlier warnings and errors. */
async function start(t: Test, args: readonly string[], message: string) {
  const child = spawn(process.execPath, [MX, ...args], {
    env,
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const warnings: unknown[] = []
  for await (const line of createInterface(child.stderr)) {
    const entry = JSON.parse(line) as Record<string, unknown>
    if (entry['msg'] === message) return { entry, warnings }
    if (Number(entry['level']) > 30) warnings.push(entry)
  }
  throw new Error(`mx ${args.join(' ')} ended before "${message}"`)
}
type Test = { teardown: (close: () => unknown) => void }

t.test('mx prints its version and completions', async (t) => {
  t.match(await run('--version'), /\d+\.\d+\.\d+/)
  t.match(await run('--help'), /server/)
  t.match(await run('completion', 'bash'), /complete/)
})

t.test('npm start in a built checkout serves the platform', async (t) => {
  const npm = spawn('npm', ['start', '--silent'], {
    cwd: ROOT,
    env: {
      ...process.env,
      HOME: makeTempFolder(t, 'home'),
      MX_ADDRESS: '127.0.0.1:0',
      MX_PROXY_ADDRESS: '127.0.0.1:0',
      MX_WEB_ADDRESS: '127.0.0.1:0',
      MX_ADMIN_ADDRESS: 'none',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    // In its own process group, like a program ended by Ctrl-C in a terminal.
    detached: true,
  })
  const ended = once(npm, 'close')
  t.teardown(() => npm.exitCode ?? process.kill(-npm.pid!, 'SIGKILL'))
  for await (const line of createInterface(npm.stderr)) {
    if (!line.includes('"server ready"')) continue
    const { gateway } = JSON.parse(line) as { gateway: string }
    t.match(await (await fetch(gateway)).json(), { version: String })
    process.kill(-npm.pid!, 'SIGINT')
  }
  t.same(await ended, [0, null])
})

t.test('mx api serves on both listeners, with a plugin in TypeScript', async (t) => {
  writeFileSync(
    join(home, 'teapot.ts'),
    'export default { onRequest(x: { reply(code: number): void }) { x.reply(418) } }\n',
  )
  for (const listener of ['uws', 'node']) {
    const args = ['api', ...ANY, `--listener=${listener}`, '--plugin=./teapot.ts']
    const { entry, warnings } = await start(t, args, 'gateway ready')
    t.same(warnings, [])
    t.equal((await fetch(String(entry['url']))).status, 418)
    t.equal(entry['listener'], listener)
  }
})

t.test('packages imported by a plugin share the classes of the gateway', async (t) => {
  const rejectingModule = join(home, 'node_modules/refusing')
  mkdirSync(rejectingModule, { recursive: true })
  symlinkSync(join(modules, 'mx-gateway'), join(home, 'node_modules/mx-gateway'))
  writeFileSync(join(rejectingModule, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(
    join(rejectingModule, 'index.js'),
    `import { GatewayError } from 'mx-gateway'
export function reject() { throw new GatewayError('shop', 410, 'sold out') }
`,
  )
  writeFileSync(
    join(home, 'sold-out.ts'),
    `import { reject } from 'refusing'
export default { onRequest: () => reject() }
`,
  )
  const { entry } = await start(t, ['api', ...ANY, '--plugin=./sold-out.ts'], 'gateway ready')
  const reply = await fetch(String(entry['url']))
  t.equal(reply.status, 410)
  t.match(await reply.json(), { Id: 'shop', Detail: 'sold out' })
})

t.test(
  'mx server serves its services and dashboard, and stores its state in the home folder',
  async (t) => {
    const args = ['server', ...ANY, '--proxy_address=127.0.0.1:0', '--web_address=127.0.0.1:0']
    const { entry } = await start(t, args, 'server ready')
    const reply = await fetch(`${entry['gateway']}/registry/listServices`)
    t.equal(reply.status, 200)
    const page = await fetch(String(entry['dashboard']))
    t.equal(page.status, 200)
    t.match(await page.text(), /<script/)
    t.ok(existsSync(join(home, '.mx/server')))
  },
)

t.test('commands in the banner of mx server work in order', async (t) => {
  if (skipUnless(t, 'script') === undefined || skipUnless(t, 'curl') === undefined) return
  const reader = makeTempFolder(t, 'home')
  const environment = { ...process.env, HOME: reader, TERM: 'xterm' }
  const ports = ['--proxy_address=127.0.0.1:0', '--web_address=127.0.0.1:0']
  const args = [process.execPath, MX, 'server', ...ANY, ...ports].join(' ')
  const terminal = spawn('script', ['-qfec', `stty cols 0; ${args}`, '/dev/null'], {
    cwd: reader,
    env: environment,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.teardown(() => terminal.kill('SIGKILL'))
  const ended = once(terminal, 'close')
  let banner = ''
  for await (const chunk of terminal.stdout) {
    banner += chunk
    if (/try it +curl \S+\r?\n/.test(banner)) break
  }
  const find = (label: string): string => new RegExp(`${label} +([^\\r\\n]+)`).exec(banner)![1]!
  const [password = ''] = find('password').split(' ')
  const login = find('log in').replaceAll(/(?<=^|&& )mx /g, `${process.execPath} ${MX} `)
  const type = (line: string) =>
    promisify(execFile)('sh', ['-ec', line], { cwd: reader, env: environment })
  await type(`${login} --password=${password}`)
  t.match((await type(`${process.execPath} ${MX} user token`)).stdout, /^ey/)
  t.match((await type(`${find('try it')} -s`)).stdout, /^\{"version":/)
  terminal.stdin.write('\u0003')
  await ended
})

t.test('services find the SDK and its types', async (t) => {
  const project = join(folder, 'project/node_modules')
  mkdirSync(project, { recursive: true })
  symlinkSync(join(modules, 'mx-gateway'), join(project, 'mx-gateway'))
  const program =
    "import { Service, Type } from 'mx-gateway'; console.log(typeof Service, typeof Type)"
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', program],
    { env, cwd: dirname(project) },
  )
  t.equal(stdout, 'function object\n')
  t.ok(existsSync(join(modules, 'mx-gateway/dist/sdk/index.d.ts')))
})
