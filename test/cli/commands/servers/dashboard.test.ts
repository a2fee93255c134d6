import t from 'tap'
import dashboardCommand from '../../../../cli/commands/servers/dashboard.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { DashboardClient } from '../../../fixtures/dashboard-client.ts'
import { type RunningMx, startMx } from '../../../fixtures/mx.ts'
import { RawClient } from '../../../fixtures/raw-client.ts'

const { run, start, home } = await openCliServer(t)
const READY = /"msg":"dashboard ready"/

function toUrl(mx: RunningMx): string {
  return String(mx.log().find(({ msg }) => msg === 'dashboard ready')!['dashboard'])
}

t.test('mx dashboard serves the server of the environment, and exits 0 on SIGTERM', async (t) => {
  const limits = ['--session_idle_timeout=10m', '--session_max_age=8h']
  const mx = start('dashboard', '--address', '127.0.0.1:0', ...limits)
  await mx.waitUntil(READY)
  const client = new DashboardClient(toUrl(mx))
  t.equal((await client.sendRequest('GET', '/session')).status, 401)
  t.equal((await client.logIn({ id: 'admin', secret: 'wrong' })).status, 401)
  t.match(await client.logIn(), { status: 200, body: { account: { id: 'admin' } } })

  const page = await client.connect(t)
  t.match(await page.call('auth', 'Accounts.List'), { accounts: [{ id: 'admin' }] })
  await t.rejects(page.call('greeter', 'Greeter.Hello'), { code: 404 })
  const rules = page.open('auth', 'Rules.Watch', {}, { streams: true })
  t.ok(await rules.next())
  const raw = new RawClient(Number(new URL(client.url).port))
  raw.send('GET / HTTP/1.1\r\nhost: evil.test\r\nconnection: close\r\n\r\n')
  await raw.waitUntil(({ closed }) => closed)
  t.match(raw.text, /^HTTP\/1.1 403/, 'unknown host names are rejected')

  t.equal((await client.sendRequest('POST', '/logout')).status, 204)
  t.equal(await page.closed, 1001)
  mx.child.kill('SIGTERM')
  t.equal(await mx.ended, 0)
})

t.test('an unreachable server is reported at the start, and logins fail with 502', async (t) => {
  const env = { HOME: home, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' }
  const mx = startMx(['dashboard', '--address', '127.0.0.1:0'], { cwd: home, env })
  t.teardown(() => mx.child.kill('SIGKILL'))
  await mx.waitUntil(READY)
  await mx.waitUntil(/^mx: Failed to connect to mx server at 127\.0\.0\.1:1: start it/m)
  const client = new DashboardClient(toUrl(mx))
  t.match(await client.logIn(), {
    status: 502,
    body: { Code: 502, Detail: /refused the connection$/ },
  })
})

t.test('malformed arguments are rejected with the expected form', async (t) => {
  const reject = (args: readonly string[], message: RegExp) =>
    t.rejects(run(dashboardCommand, ...args), { message, status: 2 })
  await reject(['staging'], /^Too many arguments, expected no arguments; use --address/)
  await reject(['--address', '9082'], /^--address must be host:port or :port/)
  await reject(['--hosts', 'a b'], /^--hosts must be any, local, or names/)
  await reject(['--env', 'nowhere'], /^Env "nowhere" not found/)
  await reject(['--adress', ':1'], /^unknown flag --adress, did you mean --address\?/)
})

t.test('a port in use exits 1 with the address', async (t) => {
  const first = start('dashboard', '--address', '127.0.0.1:0')
  await first.waitUntil(READY)
  const { port } = new URL(toUrl(first))
  const second = start('dashboard', '--address', `127.0.0.1:${port}`)
  t.equal(await second.ended, 1)
  t.match(
    second.output.stderr,
    `mx: cannot listen on 127.0.0.1:${port}: the port is already in use`,
  )
  first.child.kill('SIGTERM')
  await first.ended
})
