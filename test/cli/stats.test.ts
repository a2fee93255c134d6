import t from 'tap'
import { runStats } from '../../cli/stats.ts'
import { openCliServer } from '../fixtures/cli-server.ts'

const { run, post } = await openCliServer(t)

t.test('stats shows what each node of a service takes', async (t) => {
  t.match(
    await run(runStats, 'stats', 'auth'),
    /^SERVICE {2}auth\nVERSION {2}latest\n\nNODE\t+ADDRESS:PORT\t+STARTED\t+UPTIME\t+MEMORY\t+THREADS\t+GC\nauth-\S+\t+127\.0\.0\.1:\d+\t+[A-Z][a-z]{2} \d+ \d\d:\d\d:\d\d\t+\S+\t+\d+\.\d\dmb\t+\d+\t+\S+\n$/,
  )
  t.match(JSON.parse(await run(runStats, 'stats', 'auth', '-o', 'json')), [
    { service: 'auth', nodes: [{ stats: { memory: Number } }] },
  ])
})

t.test('of a node that is not reached there are no figures', async (t) => {
  const nodes = [{ id: 'away-1', address: '127.0.0.1:1' }]
  const { status } = await post('/registry/register', { name: 'away', version: 'v1', nodes })
  t.equal(status, 200)
  t.match(
    await run(runStats, 'stats', 'away'),
    /VERSION {2}v1\n\nNODE.*\naway-1\t127\.0\.0\.1:1\t+\n$/,
  )
  t.notMatch(await run(runStats, 'stats', '--all=custom'), /SERVICE {2}auth/)
  await t.rejects(run(runStats, 'stats', 'nobody'), {
    message: /^Service not found: nobody/,
    status: 4,
  })
  await t.rejects(run(runStats, 'stats', '--all=none'), { message: /builtin or custom/, status: 2 })
})
