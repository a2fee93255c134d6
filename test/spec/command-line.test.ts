import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { runMx, startMx } from '../fixtures/mx.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

// The rows of the table in the specification's section "Command line". Each command is a separate process.

const server = await startServerProcess(t, ['--profile=test'])
const home = makeTempFolder(t, 'home')
const env = { HOME: home, MX_ENV_LOCAL_ADDRESS: server.proxy }
const options = { cwd: home, env }
cpSync(join(ROOT, 'examples/helloworld'), join(home, 'helloworld'), { recursive: true })

/** Standard output of a command that succeeds without other output. */
async function mx(t: Test, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runMx(args, options)
  t.same([code, stderr], [0, ''], `mx ${args.join(' ')}`)
  return stdout
}

/** Error output of a failing command. */
async function fail(...args: string[]): Promise<readonly [number | null, string]> {
  const { code, stdout, stderr } = await runMx(args, options)
  return [code, stdout + stderr]
}

t.test('server: starts the whole system', async (t) => {
  const reply = await fetch(`${server.gateway}/`)
  t.match(await reply.json(), { version: /^\d+\.\d+\.\d+$/ })
  t.equal((await fetch(server.dashboard)).status, 200)
})

t.test('api: starts the gateway alone, in handler mode', async (t) => {
  const gateway = startMx(['api', '--address=127.0.0.1:0', '--handler=rpc'], options)
  t.teardown(async () => {
    gateway.child.kill('SIGKILL')
    await gateway.ended
  })
  const reply = await fetch(`${await gateway.url()}/nothing/call`)
  t.match(await reply.json(), { Id: 'go.mx.api.nothing', Code: 404 })
})

t.test('login: stores credentials in ~/.mx/tokens', async (t) => {
  t.match(await fail('user', 'token'), [2, /not logged in to local\. Log in with 'mx login'/])
  t.match(await fail('login', '--username=admin', '--password=wrong'), [
    2,
    /^mx: Secret not correct.* \(Id auth\.Auth\.Token\)\n$/,
  ])
  t.equal(await mx(t, 'login', '--username=admin', '--password=mx'), 'Successfully logged in.\n')
  const file = join(home, '.mx/tokens')
  t.match(readFileSync(file, 'utf8'), `mx://${server.proxy}/mx/admin:`)
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('signup: fails because no signup service is running', async (t) => {
  t.match(await fail('signup', '--email=jane@example.com'), [4, /signup/])
})

t.test('user token and user namespace', async (t) => {
  t.equal(await mx(t, 'user'), 'admin\n')
  t.match(await mx(t, 'user', 'token'), /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
  t.equal(await mx(t, 'user', 'namespace'), 'mx\n')
})

t.test('env, env add and env set: the selected environment is marked', async (t) => {
  t.match(await mx(t, 'env'), /^ {2}dev\s+none.*\n\* local\s+127\.0\.0\.1:\d+\s.*\n {2}platform\s/)
  await mx(t, 'env', 'add', 'other', '127.0.0.1:1')
  await mx(t, 'env', 'set', 'other')
  t.match(await mx(t, 'env'), /\n\* other\s+127\.0\.0\.1:1/)
  t.match(await fail('status'), [
    4,
    /^mx: Failed to connect to mx server at 127\.0\.0\.1:1, .*mx env'\n$/,
  ])
  await mx(t, 'env', 'set', 'local')
  t.match(await fail('env', 'set', 'nothing'), [/[12]/, "Environment 'nothing' does not exist"])
  t.match(await fail('status', '--env=nothing'), [2, /Env "nothing" not found.*See `mx env`/])
})

t.test('services: lists the registered services', async (t) => {
  const names = (await mx(t, 'services')).split('\n')
  for (const name of [
    'auth',
    'broker',
    'config',
    'events',
    'network',
    'registry',
    'runtime',
    'store',
  ])
    t.ok(names.includes(name), name)
})

t.test('run, status, logs, update and kill', async (t) => {
  t.equal(await mx(t, 'status'), '')
  t.equal(await mx(t, 'run', './helloworld'), '')
  t.match(await mx(t, 'status'), /^NAME\s.*\nhelloworld\s+latest\s+\S+\s+running\s/)
  t.ok((await mx(t, 'services')).split('\n').includes('helloworld'))
  t.match(await mx(t, 'logs', 'helloworld'), 'service ready')
  const following = startMx(['logs', '-f', 'helloworld'], options)
  await following.waitUntil(/service ready/)
  // Invalidates the token that `logs -f` started with.
  await mx(t, 'call', 'auth', 'Auth.RotateKey', '{"drop":true}')
  const source = join(home, 'helloworld/helloworld.ts')
  writeFileSync(source, readFileSync(source, 'utf8').replace('Hello ', 'Good day '))
  t.equal(await mx(t, 'update', './helloworld'), '')
  const reply = await fetch(`${server.gateway}/helloworld/call?name=John`)
  t.same(await reply.json(), { message: 'Good day John' })
  t.match(
    await mx(t, 'status', 'helloworld'),
    /owner=admin, group=mx.*, url=http:\/\/\S+\/helloworld\/call, requests=[\d.]+\/s, errors=0\.0%, p99=[\d.]+ms\n$/,
  )
  await following.waitUntil(/service ready.*\n.*service ready/)
  following.child.kill('SIGINT')
  t.equal(await following.ended, 0, 'Ctrl-C ends it with status 0')
  t.equal(following.output.stderr, '')
})

t.test('<service> <endpoint> --<field>=<value>', async (t) => {
  t.equal(await mx(t, 'helloworld', 'call', '--name=John'), '{\n\t"message": "Good day John"\n}\n')
  t.equal(
    await mx(t, 'helloworld', 'stream', '--count=2'),
    '{"message":"1 of 2"}\n{"message":"2 of 2"}\n',
  )
  const entry = JSON.parse(await mx(t, 'registry', 'getService', '--service=store'))
  t.match(entry, { services: [{ name: 'store' }] }, 'the field service is --service')
  const nested = ['registry', 'getService', '--service=store', '--options_domain=mx']
  t.match(JSON.parse(await mx(t, ...nested)), entry, 'nested fields are joined with _')
  t.equal(await mx(t, 'kill', 'helloworld'), '')
  t.equal(await mx(t, 'status'), '')
  t.match(await fail('kill', 'helloworld'), [1, /not found/])
})

t.test('auth: rules and accounts', async (t) => {
  t.match(
    await mx(t, 'auth', 'list', 'rules'),
    /^ID\s+Scope\s+Access\s+Resource\s+Priority\ndefault\s+<public>\s+GRANTED\s+\*:\*:\*\s+0\n/,
  )
  t.match(await mx(t, 'auth', 'list', 'accounts'), /^ID\s+Name\s+Scopes\s+Metadata\nadmin\s/)
  const args = ['--access=granted', '--scope=*', '--resource=*:*:*', 'onlyloggedin']
  t.equal(await mx(t, 'auth', 'create', 'rule', ...args), 'Rule created\n')
  const login = ['--access=granted', '--resource=service:auth:*', 'login']
  await mx(t, 'auth', 'create', 'rule', ...login)
  t.match(await mx(t, 'auth', 'list', 'rules'), /\nlogin\s+<public>\s+GRANTED\s+service:auth:\*\s/)
  t.equal(await mx(t, 'auth', 'delete', 'rule', 'onlyloggedin'), 'Rule deleted\n')
  const created = await mx(t, 'auth', 'create', 'account', '--scopes=reader', 'jane')
  t.match(JSON.parse(created.replace(/^Account created: /, '')), {
    id: 'jane',
    scopes: ['reader'],
    secret: /^\S{8,}$/,
  })
})

t.test('config set, get and del', async (t) => {
  t.equal(await mx(t, 'config', 'set', 'helloworld.greeting', 'Hello'), '')
  t.equal(await mx(t, 'config', 'get', 'helloworld.greeting'), 'Hello\n')
  await mx(t, 'config', 'set', '--secret', 'helloworld.db.password', 'hunter2')
  t.same(JSON.parse(await mx(t, 'config', 'get', 'helloworld')), {
    greeting: 'Hello',
    db: { password: '[secret]' },
  })
  t.equal(await mx(t, 'config', 'get', '--secret', 'helloworld.db.password'), 'hunter2\n')
  t.equal(await mx(t, 'config', 'del', 'helloworld'), '')
  t.match(await fail('config', 'get', 'helloworld.greeting'), [1, /^mx: not found/])
})
