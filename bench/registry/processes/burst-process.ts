// Registers nodes at a rate limited by the registry. Arguments: registry, registrations per second, seconds, and
// `catalog` to write directly to Consul's catalog without its agents.
import { setTimeout as wait } from 'node:timers/promises'
import type { Service } from '../../../core/contracts/registry.ts'
import { openRegistry } from '../../../sdk/registry/open-registry.ts'
import { MAX_OPERATIONS, writeCatalog } from '../catalog.ts'

/** Number of services, whose nodes are registered service by service. */
const SERVICES = 5000
/** Maximum number of concurrent registrations. */
const MAX_OPEN = 64

const [text = '', perSecond = '1000', seconds = '30', conditions = ''] = process.argv.slice(2)
const { registry, close } = openRegistry(text)
const counts = { registered: 0, failed: 0 }

function toEntry(i: number): Service {
  const service = i % SERVICES
  const node = Math.floor(i / SERVICES)
  const name = `go.mx.api.burst-${service}`
  return {
    name,
    version: 'latest',
    metadata: {},
    endpoints: [
      {
        name: 'Burst.Call',
        request: { name: 'Request', type: 'Request', values: [] },
        response: { name: 'Response', type: 'Response', values: [] },
        metadata: { path: `/burst/${service}`, method: 'GET' },
      },
    ],
    nodes: [
      { id: `${name}-${node}`, address: `127.0.0.1:${9 + node}`, metadata: { protocol: 'mx' } },
    ],
  }
}

async function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const url = `http://${text.slice('consul://'.length)}/v1${path}`
  const reply = await fetch(url, { method, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status}`)
  return reply.json()
}

const batch = conditions === 'catalog' ? MAX_OPERATIONS : 1
const send = async (entries: readonly Service[]): Promise<void> => {
  if (conditions === 'catalog') await writeCatalog({ call }, entries)
  else await registry.register!(entries[0]!, { ttlSeconds: 600 })
}

const startMs = performance.now()
let sent = 0
const work = async (): Promise<void> => {
  for (;;) {
    const nowMs = performance.now() - startMs
    if (nowMs >= Number(seconds) * 1000) return
    if (sent + batch > (nowMs / 1000) * Number(perSecond) + 1) {
      await wait(1)
      continue
    }
    const entries = Array.from({ length: batch }, () => toEntry(sent++))
    try {
      await send(entries)
      counts.registered += batch
    } catch {
      counts.failed += batch
    }
  }
}
await Promise.all(Array.from({ length: MAX_OPEN }, work))
process.stdout.write(JSON.stringify({ ...counts, seconds: (performance.now() - startMs) / 1000 }))
await close()
process.exit()
