import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { findProgram } from '../fixtures/servers.ts'

const SCRIPT = join(ROOT, 'scripts/test-servers.sh')

t.test('--check prints the path of every program that tests may need', async (t) => {
  const { stdout, status } = spawnSync('bash', [SCRIPT, '--check'], { encoding: 'utf8' })
  const lines = stdout.trim().split('\n')
  const printed = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  t.same(
    Object.keys(printed).join(' '),
    'nginx haproxy caddy wrk chromium-headless-shell curl h2load python3 consul postgres redis-server nats-server systemd-analyze pebble helm node22 node24',
  )
  for (const [program, location] of Object.entries(printed)) {
    t.equal(location.startsWith('missing') ? undefined : location, findProgram(program), program)
  }
  const missing = lines.filter((line) => line.includes(': missing'))
  t.equal(status, missing.length === 0 ? 0 : 1)
})

t.test('findProgram returns undefined for a program that is not installed', async (t) => {
  t.equal(findProgram('no-such-program-anywhere'), undefined)
})
