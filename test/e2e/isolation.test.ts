// A hostile program on a complete server. Checks which data it can read, and whether it survives.
import { randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findMarked } from '../../lib/process/processes.ts'
import { type Deployer, makePlainProgram, openDeployer } from '../fixtures/deployer.ts'
import { isRunning } from '../fixtures/is-running.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import {
  type ServerProcess,
  type ServerProcessOptions,
  startServerProcess,
} from '../fixtures/server-process.ts'

t.jobs = 2
t.setTimeout(120_000)

const UNPRIVILEGED_UID = 65_534
const isRoot = process.getuid?.() === 0
const DENIED = /^(EACCES|EPERM|ENOENT|ESRCH)$/
/** Tries to read the targets in `ATTACK`, and records the results. */
const ATTACK = `
const { readdirSync, readFileSync, readlinkSync } = require('node:fs')
const attempt = (run) => { try { return run() } catch ({ code }) { return code } }
const { paths, pids } = JSON.parse(process.env.ATTACK)
const status = readFileSync('/proc/self/status', 'utf8')
const result = {
  uid: process.getuid(),
  reads: Object.fromEntries(paths.map((path) => [path, attempt(() => readFileSync(path, 'latin1').slice(0, 100))])),
  lists: Object.fromEntries(paths.map((path) => [path, attempt(() => readdirSync(path).join().slice(0, 100))])),
  kills: pids.map((pid) => attempt(() => process.kill(pid, 0))),
  pids: readdirSync('/proc').filter((name) => pids.includes(Number(name))),
  files: readdirSync('/proc/self/fd').map((fd) => attempt(() => readlinkSync('/proc/self/fd/' + fd))),
  names: Object.keys(process.env),
  status: Object.fromEntries(status.split('\\n').map((line) => line.split(/:\\s*/))),
}
console.log(JSON.stringify(result))
`
const SERVE = `
require('node:http').createServer((_, reply) => reply.end('up')).listen(process.env.PORT, '127.0.0.1')
`
/** Starts a process in its own session with its own environment. */
const ESCAPE = `
require('node:child_process')
  .spawn('setsid', ['env', '-i', '/bin/sleep', process.env.SLEEP], { stdio: 'ignore' })
`
const HTTP = 'protocol: http\ncommand: node main.cjs\n'

interface Login {
  readonly token: { readonly access_token: string }
}

interface Setup {
  readonly server: ServerProcess
  readonly operator: Deployer
  /** An administrator of namespace `tb`. */
  readonly tenant: Deployer
}

async function open(
  t: Test,
  args: readonly string[],
  options: ServerProcessOptions = {},
): Promise<Setup> {
  const server = await startServerProcess(t, args, options)
  const { proxy, token } = server
  const admin = openClient(t, { proxy, token })
  const auth = { id: 'tbadmin', secret: 'a long secret' }
  const account = { ...auth, scopes: ['admin'], options: { namespace: 'tb' } }
  await admin.call('auth', 'Auth.Generate', account)
  const tenantOptions = { proxy, namespace: 'tb' }
  const login = await openClient(t, tenantOptions).call<Login>('auth', 'Auth.Token', auth)
  const tenant = openClient(t, { ...tenantOptions, token: login.token.access_token })
  return { server, operator: openDeployer(t, admin), tenant: openDeployer(t, tenant) }
}

async function attack(
  { operator, server }: Setup,
  deployer: Deployer,
  files: Record<string, string>,
) {
  const name = `victim-${randomInt(1e6)}`
  await operator.create(name, makePlainProgram('victim'))
  const running = await operator.settled(name)
  if (running.status !== 4) throw new Error(JSON.stringify(running))
  const [victim] = (await findMarked([`MX_SERVICE_NAME=${name}`])) as [number]
  const dataFolder = join(server.home, '.mx')
  const secrets = ['config_secret_key', 'admin_password', 'service_credentials']
  const store = join(dataFolder, 'server/store')
  const pids = [server.child.pid!, victim]
  const paths = [
    ...[store, join(dataFolder, 'server/runtime/builds/mx'), 'stolen'],
    ...[...secrets.map((name) => join(dataFolder, name)), ...listFiles(store)],
    ...pids.flatMap((pid) => [`/proc/${pid}/environ`, `/proc/${pid}/root/etc/passwd`]),
    `/proc/${server.child.pid}/mem`,
  ]
  const env = [`ATTACK=${JSON.stringify({ paths, pids })}`]
  await deployer.create('hostile', { 'main.cjs': ATTACK + SERVE, ...files }, { env })
  const settled = await deployer.settled('hostile')
  if (settled.status !== 4) throw new Error(JSON.stringify(settled))
  for (;;) {
    const line = (await deployer.logs('hostile')).find((text) => text.startsWith('{'))
    if (line !== undefined) return JSON.parse(line)
  }
}

function listFiles(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}

async function escapeAndDelete(t: Test, deployer: Deployer): Promise<void> {
  const seconds = String(randomInt(1e6, 1e9))
  const args = ['/bin/sleep', seconds]
  const files = { 'main.cjs': ESCAPE + SERVE, 'mx.yaml': HTTP }
  await deployer.create('escapee', files, { env: [`SLEEP=${seconds}`] })
  t.match(await deployer.settled('escapee'), { status: 4 })
  while (!isRunning(args)) await new Promise((resolve) => setImmediate(resolve))
  await deployer.call('Delete', 'escapee')
  t.equal(isRunning(args), false, 'a process in its own session ends with the service')
}

t.test(
  'a program cannot read data of the server or of other namespaces',
  { skip: !isRoot && 'requires root' },
  async (t) => {
    const setup = await open(t, ['--runtime_namespaces=tb'], { env: { SERVER_SECRET: 'secret' } })
    const { server, tenant } = setup
    const key = join(server.home, '.mx/config_secret_key')
    const build = `id -u; cat ${key} || echo denied; tr "\\0" "\\n" < /proc/${server.child.pid}/environ || echo denied; ln -s ${key} stolen`
    const mx = `${HTTP}build: ${JSON.stringify(build)}\n`
    const { uid, reads, lists, kills, pids, files, names, status } = await attack(setup, tenant, {
      'mx.yaml': mx,
    })
    t.ok(uid >= 200_000)
    for (const [path, text] of Object.entries(reads)) t.match(text, DENIED, path)
    for (const [path, text] of Object.entries(lists)) t.match(text, DENIED, path)
    t.strictSame(kills, ['EPERM', 'EPERM'])
    t.strictSame(pids, [])
    t.notOk(names.includes('SERVER_SECRET'))
    for (const file of files) t.notMatch(file, server.home)
    t.match(status, { NoNewPrivs: '1', CapEff: /^0+$/, CapBnd: /^0+$/, Groups: /^\s*$/ })
    const output = await tenant.output('hostile')
    t.match(output, /^200\d+\n(.*\n)*denied\n(.*\n)*denied\n/m)
    t.notMatch(output, readFileSync(key, 'utf8').trim())
    const warning = server.log().find(({ runtimeNamespaces }) => runtimeNamespaces !== undefined)
    t.match(warning, {
      level: 40,
      runtimeNamespaces: ['tb'],
      accessible: /^world-readable files/,
    })
    await escapeAndDelete(t, tenant)

    const secret = join(server.home, 'secret.json')
    writeFileSync(secret, '{}', { mode: 0o600 })
    const main = `import secret from ${JSON.stringify(secret)}\nconsole.log(secret)\n`
    await tenant.create('bundled', { 'main.ts': main })
    const error = /Could not resolve/
    t.match(await tenant.settled('bundled'), { status: 7, metadata: { error } })
  },
)

t.test(
  'a server that runs without root logs which files its programs can read',
  { skip: !isRoot && 'requires root' },
  async (t) => {
    const setup = await open(t, [], { uid: UNPRIVILEGED_UID })
    const { server, operator, tenant } = setup
    const line = server
      .log()
      .find(({ msg }) => String(msg).startsWith('programs started by mx run are not'))
    t.match(line, {
      level: 30,
      reason: /runs as user 65534 without CAP_CHOWN/,
      accessible: /all files of user 65534: .*secrets in/,
    })
    const create = tenant.create('hostile', { 'main.cjs': SERVE, 'mx.yaml': HTTP })
    await t.rejects(create, { code: 403, message: /runtime_namespaces/ })
    const { uid, reads } = await attack(setup, operator, { 'mx.yaml': HTTP })
    t.equal(uid, UNPRIVILEGED_UID)
    // Files are readable, as logged, but environment and memory of the server are not.
    for (const name of ['environ', 'mem']) {
      const path = `/proc/${server.child.pid}/${name}`
      t.match(reads[path], DENIED, path)
    }
    await escapeAndDelete(t, operator)
  },
)

t.test(
  'a privileged server that cannot isolate denies programs of other namespaces',
  { skip: !isRoot && 'requires root' },
  async (t) => {
    const args = ['--runtime_uids=none', '--runtime_namespaces=tb']
    const { server, operator, tenant } = await open(t, args)
    const marker = join(server.home, 'ran')
    const files = { 'main.cjs': SERVE, 'mx.yaml': `${HTTP}build: touch ${marker}\n` }
    await tenant.create('denied', files)
    const error = /namespace tb cannot run: the server is privileged .*runtime_uids.*CAP_SYS_ADMIN/
    t.match(await tenant.settled('denied'), { status: 7, metadata: { error } })
    t.notOk(existsSync(marker), 'the build did not run either')
    await tenant.call('Delete', 'denied')
    await operator.create('allowed', files)
    t.match(await operator.settled('allowed'), { status: 4 })
    t.ok(existsSync(marker))
  },
)
