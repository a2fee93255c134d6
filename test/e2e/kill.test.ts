import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { Agent, request } from 'undici'
import { openGateway } from '../fixtures/gateway.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

/** A backend process that delays every response and prints its port. */
const BACKEND = `
const server = require('node:http').createServer((req, res) => {
  req.resume()
  req.on('end', () => setTimeout(() => res.end(String(process.pid)), 5))
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

async function startBackend(t: {
  teardown: (close: () => unknown) => void
}): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, ['-e', BACKEND], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [port] = await once(child.stdout!, 'data')
  return { child, port: Number(port) }
}

for (const method of ['GET', 'POST'] as const) {
  t.test(
    `killing one of two backends loses no more ${method}s than were in flight on it`,
    async (t) => {
      const backends = [await startBackend(t), await startBackend(t)]
      const { origin, directory } = await openGateway(t, { app: backends.map(({ port }) => port) })
      const agent = new Agent({ connections: 64 })
      t.teardown(() => agent.destroy())
      const responses = new Map<string, number>()
      const codes = new Set<number>()
      let failed = 0
      let stop = false
      const load = async () => {
        while (!stop) {
          const { statusCode, body } = await request(`${origin}/app`, { method, dispatcher: agent })
          const text = await body.text()
          if (statusCode === 200) responses.set(text, (responses.get(text) ?? 0) + 1)
          else {
            failed++
            codes.add(statusCode)
          }
        }
      }
      const clients = Array.from({ length: 64 }, load)
      const count = () => [...responses.values()].reduce((sum, n) => sum + n, 0)
      const waitForCount = (total: number) => waitUntil(() => count() >= total)
      await waitForCount(1000)
      t.equal(failed, 0)
      t.equal(responses.size, 2, 'both backends serve')

      const upstream = await directory.find('go.mx.api.app')
      const [victim, other] = upstream!.nodes
      await waitUntil(() => victim!.active > 0)
      let inFlight = victim!.active
      backends[0]!.child.kill('SIGKILL')
      // A killed process still has its sockets for a moment, and requests continue to arrive.
      let isKilled = false
      backends[0]!.child.once('exit', () => {
        isKilled = true
      })
      while (!isKilled) {
        inFlight = Math.max(inFlight, victim!.active)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await waitForCount(count() + 2000)
      const after = failed
      t.ok(inFlight > 0, `${inFlight} were in flight`)
      if (method === 'GET') t.equal(after, 0, 'idempotent requests were retried')
      else t.ok(after <= inFlight, `${after} of ${inFlight} requests in flight failed`)
      const before = responses.get(String(backends[0]!.child.pid))
      await waitForCount(count() + 1000)
      stop = true
      await Promise.all(clients)
      t.equal(failed, after, 'no failure afterwards')
      t.ok([...codes].every((code) => code === 502))
      t.equal(responses.get(String(backends[0]!.child.pid)), before)
      t.equal(victim!.active, 0)
      t.equal(other!.active, 0)
    },
  )
}
