import t from 'tap'
import nodesCommand from '../../../../cli/commands/platform/nodes.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { startMx } from '../../../fixtures/mx.ts'

const A = '127.0.0.1:1'
const B = '127.0.0.1:2'
const BACKENDS = [`--backend=site=${A}`, `--backend=site=${B}`]
const TOKEN = 'a long enough token'
const { run, get, home } = await openCliServer(t, BACKENDS)

t.test('shows, drains and restores nodes of a server', async (t) => {
  const text = await run(nodesCommand, 'site')
  t.match(text, /^SERVICE\s+NODE\s+ADDRESS\s+ZONE\s+STATE\s+IN FLIGHT\s+CONNECTIONS\s+LATENCY\n/)
  t.match(text, /\nsite\s+127.0.0.1:1\s+127.0.0.1:1\s+-\s+usable\s+0\s+0\s+-\n/)
  t.match(JSON.parse(await run(nodesCommand, 'site', '-o', 'json')), [
    { namespace: 'mx', service: 'site', id: A, state: 'usable' },
    { id: B },
  ])
  const drained = JSON.parse(await run(nodesCommand, 'drain', 'site', A, '-o', 'json'))
  t.match(drained, { id: A, state: 'drained' })
  await t.rejects(run(nodesCommand, 'drain', 'site', B), {
    message: /No other node of the service site is usable/,
  })
  t.equal(
    await run(nodesCommand, 'drain', 'site', B, '--force'),
    `drained ${B}; 0 requests in flight\n`,
  )
  t.equal((await get('/site/')).status, 503)
  t.equal(await run(nodesCommand, 'restore', 'site', B), `restored ${B}; state usable\n`)
  t.equal((await get('/site/')).status, 502)
  t.match(await run(nodesCommand), /\nsite\s[^\n]*drained/)
})

t.test('--admin reaches a gateway without a server', async (t) => {
  const addresses = ['--address=127.0.0.1:0', '--admin_address=127.0.0.1:0']
  const mx = startMx(['api', ...addresses, ...BACKENDS], {
    cwd: home,
    env: { MX_ADMIN_TOKEN: TOKEN },
  })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  await mx.url()
  const ready = mx.log().find(({ msg }) => msg === 'gateway ready')
  const admin = `--admin=${String(ready?.['admin']).replace('http://', '')}`
  t.match(await run(nodesCommand, 'site', admin), /\ngo\.mx\.api\.site\s+127.0.0.1:1\s/)
  await t.rejects(run(nodesCommand, 'drain', 'site', A, admin), {
    ...{ message: /invalid admin token/, status: 2 },
  })
  const token = `--admin_token=${TOKEN}`
  t.match(await run(nodesCommand, 'drain', 'site', A, admin, token), `drained ${A}`)
  await t.rejects(run(nodesCommand, 'drain', 'site', B, admin, token), {
    ...{ message: /No other node of the service go\.mx\.api\.site/, status: 127 },
  })
  t.match(await run(nodesCommand, 'restore', 'site', A, admin, token), /state usable/)
})

t.test('rejects an invalid admin address, and one without a gateway', async (t) => {
  await t.rejects(run(nodesCommand, '--admin', 'http://127.0.0.1'), {
    ...{ message: /Invalid --admin: .*, must be <host>:<port>/, status: 2 },
  })
  await t.rejects(run(nodesCommand, '--admin', '127.0.0.1:1', '--env', 'local'), {
    ...{ message: /cannot be combined/, status: 2 },
  })
  await t.rejects(run(nodesCommand, '--admin', '127.0.0.1:1'), {
    ...{ message: /127\.0\.0\.1:1 is not available: .*Set --admin/, status: 4 },
  })
})
