import t from 'tap'
import statsCommand from '../../../../cli/commands/calls/stats.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'

const { run, post, get } = await openCliServer(t)

t.test('stats prints uptime, memory and requests of each node of a service', async (t) => {
  t.match(
    await run(statsCommand, 'auth'),
    /^SERVICE {2}auth\nVERSION {2}latest\n\nNODE\t+ADDRESS:PORT\t+STARTED\t+UPTIME\t+MEMORY\t+THREADS\t+GC\nauth-\S+\t+127\.0\.0\.1:\d+\t+[A-Z][a-z]{2} \d+ \d\d:\d\d:\d\d\t+\S+\t+\d+\.\d\dmb\t+\d+\t+\S+\n$/,
  )
  t.match(JSON.parse(await run(statsCommand, 'auth', '-o', 'json')), [
    { service: 'auth', nodes: [{ stats: { memory: Number } }] },
  ])
})

t.test('without arguments, stats prints request rates of services, and processes', async (t) => {
  const nodes = [{ id: 'zoo-1', address: '127.0.0.1:1' }]
  await post('/registry/register', { name: 'zoo', version: 'v1', nodes })
  for (let i = 0; i < 20; i++) await get('/registry/listServices')
  await get('/zoo/animals')
  const [services = '', processes = ''] = (await run(statsCommand)).split('\n\n')
  const [headings, ...rows] = services.split('\n').map((line) => line.split(/\t+/))
  t.strictSame(headings, ['SERVICE', 'VERSION', 'NODES', 'REQ/S', 'ERRORS', 'P50', 'P99'])
  t.strictSame(rows[0]!.slice(0, 3), ['zoo', 'v1', '1'], 'user services are listed first')
  t.equal(rows[0]![4], '100.0%')
  const registry = rows.find(([name]) => name === 'registry')!
  t.ok(Number(registry[3]) > 0, `${registry[3]} requests per second`)
  t.strictSame(registry[4], '0.0%')
  t.match(registry.slice(5), [/^[\d.]+ms$/, /^[\d.]+ms$/])
  const lines = processes.trimEnd().split('\n')
  t.equal(lines.length, 3, 'the process of the built-in services is one line')
  t.match(lines[1], /^127\.0\.0\.1:1\t+zoo\t/)
  t.match(lines[2], /^127\.0\.0\.1:\d+\t+api,auth,broker,\+6\t+[A-Z].*mb\t/)
  t.match(JSON.parse(await run(statsCommand, '-o', 'json')).length, 10)
  await post('/registry/deregister', { name: 'zoo', version: 'v1', nodes })
})

t.test('an unreachable node has no statistics', async (t) => {
  const nodes = [{ id: 'away-1', address: '127.0.0.1:1' }]
  const { status } = await post('/registry/register', { name: 'away', version: 'v1', nodes })
  t.equal(status, 200)
  t.match(await run(statsCommand, 'away'), /VERSION {2}v1\n\nNODE.*\naway-1\t127\.0\.0\.1:1\t+\n$/)
  t.notMatch(await run(statsCommand, '--all=custom'), /auth/)
  await t.rejects(run(statsCommand, 'missing'), {
    message: /^Service not found: missing/,
    status: 4,
  })
  await t.rejects(run(statsCommand, '--all=none'), { message: /builtin or custom/, status: 2 })
})
