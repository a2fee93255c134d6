import t from 'tap'
import networkCommand from '../../../../cli/commands/platform/network.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { openServer } from '../../../fixtures/server.ts'

const { run, proxy } = await openCliServer(t)
const other = await openServer(t)
const network = (...args: string[]) => run(networkCommand, ...args)
const toRows = (table: string) =>
  table
    .trimEnd()
    .split('\n')
    .map((row) => row.split(/\t+/))

t.test('an unlinked server lists only itself, and no connections', async (t) => {
  t.match(toRows(await network('nodes')), [
    ['ID', 'ADDRESS'],
    [String, proxy],
  ])
  t.same(toRows(await network('connections')), [['NODE', 'ADDRESS', 'STATE', 'ERROR']])
})

t.test('connect links two servers, which are listed as nodes and connections', async (t) => {
  const linked = /^linked with \S+ at mx:\/\/127\.0\.0\.1:\d+\n$/
  t.match(await network('connect', other.proxy), linked)
  const ids = toRows(await network('nodes')).map(([id]) => id)
  t.equal(ids.length, 3)
  t.match(toRows(await network('connections'))[1], [ids[2], other.proxy, 'linked', 'n/a'])
  process.env['MX_ENV_LOCAL_ADDRESS'] = other.proxy
  t.match(await network('connections'), 'accepted')
  process.env['MX_ENV_LOCAL_ADDRESS'] = proxy
  const graph = JSON.parse(await network('graph'))
  t.match(graph, { node: { id: ids[1] }, peers: [{ node: { id: ids[2] } }] })
  t.same(JSON.parse(await network('graph', '-o', 'json')), graph)
  t.equal(toRows(await network('nodes', '--depth=1')).length, 3)
})

t.test('routes and services include the linked server', async (t) => {
  const entry = {
    name: 'helloworld',
    version: 'latest',
    metadata: {},
    endpoints: [{ name: 'Helloworld.Call', metadata: {} }],
    nodes: [{ id: 'helloworld-1', address: '127.0.0.1:9', metadata: { protocol: 'mx' } }],
  }
  t.equal((await other.post('/registry/register', entry)).status, 200)
  while (!(await network('services')).includes('helloworld\n'));
  const rows = toRows(await network('routes', '--service', 'helloworld'))
  t.same(rows[0], ['SERVICE', 'ADDRESS', 'GATEWAY', 'ROUTER', 'NETWORK', 'METRIC', 'LINK'])
  t.match(rows[1], ['helloworld', other.proxy, other.proxy, String, 'mx', /^\d+$/, 'network'])
  t.equal(rows.length, 2)
  t.match(JSON.parse(await network('routes', '--service=helloworld', '-o', 'json')), [
    { service: 'helloworld', link: 'network' },
  ])
})

t.test('a failed connect reports the reason and exits 1', async (t) => {
  await t.rejects(network('connect', '127.0.0.1:1'), {
    message:
      /^cannot link with mx:\/\/127\.0\.0\.1:1: .+\. The server retries; see 'mx network connections'$/,
    status: 1,
  })
  await t.rejects(network('connect', proxy), {
    message: `cannot link with mx://${proxy}: the address belongs to this server`,
  })
  await t.rejects(network('connect'), { message: /at least one argument: ADDRESS\.\.\./ })
  await t.rejects(network('nodes', '--depth=far'), { message: /^--depth must be a whole number/ })
})
