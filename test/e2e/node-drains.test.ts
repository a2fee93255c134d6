// An operator drains a node of a gateway with two worker processes.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../fixtures/eventually.ts'
import { startMx } from '../fixtures/mx.ts'

const TOKEN = 'a long enough token'

/** A node that responds with `name`, and to `/shop/slow` only when `release` is called. */
async function openNode(t: Test, name: string) {
  const slow: ServerResponse[] = []
  const server = createServer(({ url }, response) => {
    if (url === '/shop/slow') slow.push(response)
    else response.end(name)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { address, slow, release: () => slow.splice(0).map((response) => response.end(name)) }
}

function listWorkers(pid: number | undefined): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children.split(' ').map(Number)
}

t.test('a drained node gets no request in any worker until it is restored', async (t) => {
  const [a, b] = [await openNode(t, 'a'), await openNode(t, 'b')]
  const services = `services: { shop: [${a.address}, ${b.address}] }\n`
  const cwd = t.testdir({ 'mx.yaml': services })
  const flags = ['--handler=proxy', '--address=127.0.0.1:0', '--admin_address=127.0.0.1:0']
  const mx = startMx(['api', ...flags, '--workers=2'], { cwd, env: { MX_ADMIN_TOKEN: TOKEN } })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const admin = String(mx.log().find(({ msg }) => msg === 'gateway ready')?.['admin'])
  const send = async (path: string): Promise<string> => {
    const response = await fetch(url + path, { headers: { connection: 'close' } })
    return response.text()
  }
  const sample = async () => {
    const texts = await Promise.all(Array.from({ length: 24 }, () => send('/shop/x')))
    return [...new Set(texts)].sort().join('')
  }
  const change = async (name: string, node: string) => {
    const response = await fetch(`${admin}/nodes/${name}?service=shop&node=${node}`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } },
    })
    return { status: response.status, body: await response.json() }
  }
  const list = async () => {
    const response = await fetch(`${admin}/nodes?service=shop`)
    const { nodes } = (await response.json()) as { nodes: Record<string, unknown>[] }
    return new Map(nodes.map((node) => [node['address'], node]))
  }

  t.equal(await sample(), 'ab')
  const slow = Array.from({ length: 8 }, () => send('/shop/slow'))
  await eventually(async () => a.slow.length + b.slow.length === 8)
  t.ok(a.slow.length > 0)
  t.equal((await list()).get(a.address)?.['in_flight'], a.slow.length, 'in both workers')
  t.match(await change('drain', a.address), {
    ...{ status: 200, body: { node: { state: 'drained', in_flight: a.slow.length } } },
  })
  t.equal(await sample(), 'b')
  a.release()
  b.release()
  t.same([...new Set(await Promise.all(slow))].sort(), ['a', 'b'], 'requests in flight complete')
  t.match(await change('drain', b.address), { status: 409 })
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  t.match(metrics, /mx_upstream_nodes\{service="go\.mx\.api\.shop",state="drained"\} 1\n/)

  writeFileSync(join(cwd, 'mx.yaml'), `${services}balance: p2c\n`)
  await mx.waitUntil(/configuration reloaded/)
  t.equal(await sample(), 'b', 'even after a reload')
  const before = listWorkers(mx.child.pid)
  process.kill(before[0]!, 'SIGKILL')
  await mx.waitUntil(/worker exited; restarting/)
  await eventually(async () => {
    const now = listWorkers(mx.child.pid)
    return now.length === 2 && !now.includes(before[0]!)
  })
  for (let i = 0; i < 5; i++) t.equal(await sample(), 'b', 'even in a restarted worker')
  t.match(await change('restore', a.address), { status: 200, body: { node: { state: 'usable' } } })
  t.equal(await sample(), 'ab')
})
