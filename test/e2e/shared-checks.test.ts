// Health checks of a gateway with two worker processes. One of them checks a node for both.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { eventually } from '../fixtures/eventually.ts'
import { startMx } from '../fixtures/mx.ts'

const INTERVAL_MS = 400

async function openNode(t: Test, name: string) {
  const node = { address: '', isHealthy: true, checkedAtMs: [] as number[] }
  const server = createServer(({ url }, response) => {
    if (url !== '/healthz') return response.end(name)
    node.checkedAtMs.push(performance.now())
    return response.writeHead(node.isHealthy ? 200 : 500).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  node.address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return node
}

function listWorkers(pid: number | undefined): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children.split(' ').map(Number)
}

t.test('one worker checks each node, and another worker takes over when it exits', async (t) => {
  const [a, b] = [await openNode(t, 'a'), await openNode(t, 'b')]
  const every = `interval: ${INTERVAL_MS}ms, unhealthy_interval: 50ms, passes: 1, fails: 2`
  const cwd = t.testdir({
    'mx.yaml': `
services:
  shop: { nodes: [${a.address}, ${b.address}], health: { path: /healthz, ${every} } }\n`,
  })
  const flags = ['--handler=proxy', '--address=127.0.0.1:0', '--admin_address=127.0.0.1:0']
  const mx = startMx(['api', ...flags, '--workers=2'], { cwd })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const sample = async () => {
    const texts = await Promise.all(
      Array.from({ length: 24 }, async () => {
        try {
          const response = await fetch(`${url}/shop/x`, { headers: { connection: 'close' } })
          return await response.text()
        } catch {
          return 'unreachable'
        }
      }),
    )
    return [...new Set(texts)].sort().join('')
  }
  const areBothServing = async () => (await sample()) === 'ab'
  const isOnlyBServing = async () => (await sample()) === 'b'

  t.ok(await areBothServing(), 'both workers use the service')
  await eventually(async () => a.checkedAtMs.length >= 5)
  const gapsMs = a.checkedAtMs.slice(1).map((atMs, i) => atMs - a.checkedAtMs[i]!)
  t.ok(
    gapsMs.every((ms) => ms > INTERVAL_MS / 2),
    `${gapsMs.join()}: two workers would check at different times`,
  )
  a.isHealthy = false
  await eventually(isOnlyBServing)
  t.ok(await isOnlyBServing(), 'in both workers')
  for (const pid of listWorkers(mx.child.pid)) {
    process.kill(pid, 'SIGKILL')
    await eventually(async () => {
      const now = listWorkers(mx.child.pid)
      return now.length === 2 && !now.includes(pid)
    })
    a.isHealthy = true
    await eventually(areBothServing)
    a.isHealthy = false
    await eventually(isOnlyBServing)
  }
  a.isHealthy = true
  await eventually(areBothServing)
  t.ok(await areBothServing())
})
