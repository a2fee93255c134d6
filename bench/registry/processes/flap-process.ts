// Registers many nodes of a service, reports this on standard output, and then repeatedly deregisters and registers
// some of them. Arguments: registry, name, address, stable nodes, flapping nodes, changes per second (0 if none).
import { setTimeout as wait } from 'node:timers/promises'
import type { Service } from '../../../core/contracts/registry.ts'
import { openRegistry } from '../../../sdk/registry/open-registry.ts'

const [text = '', name = '', address = ''] = process.argv.slice(2)
const [steady = 0, flapping = 0, perSecond = 0] = process.argv.slice(5).map(Number)
const { registry } = openRegistry(text)
/** Long lease, because no heartbeats are sent. */
const TTL = { ttlSeconds: 3600 }

function toEntry(node: number): Service {
  const nodes = [{ id: `${name}-${node}`, address, metadata: { protocol: 'mx' } }]
  return { name, version: 'latest', metadata: {}, endpoints: [], nodes }
}

for (let i = 0; i < steady + flapping; i++) await registry.register!(toEntry(i), TTL)
process.stdout.write(`${JSON.stringify({ registered: steady + flapping })}\n`)

// Keeps the process running if no node flaps.
setInterval(() => {}, 60_000)
const exited = new Set<number>()
const startMs = performance.now()
for (let change = 0; perSecond > 0; change++) {
  const node = steady + (change % flapping)
  if (exited.delete(node)) await registry.register!(toEntry(node), TTL)
  else {
    exited.add(node)
    await registry.deregister!(toEntry(node))
  }
  const dueMs = startMs + ((change + 1) * 1000) / perSecond
  const remainingMs = dueMs - performance.now()
  if (remainingMs > 0) await wait(remainingMs)
}
