// Cost of routing with a large registry, without sockets: `npm run bench registry [-- services nodes]`.
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { createRouter } from '../../core/router.ts'
import type { PoolAddress } from '../../core/upstream/node/pool-address.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import endpoint from '../../resolvers/endpoint.ts'
import proxy from '../../resolvers/proxy.ts'
import { BenchExchange } from '../micro/bench-exchange.ts'

const CHANGES = 2000
const PICKS = 1_000_000
const PICKS_ROUNDS = 5

function createPool(address: PoolAddress): Pool {
  return new Pool({
    ...address,
    timeouts: { connectMs: 1000, replyMs: 1000, idleMs: 1000 },
    keepAliveMs: 1000,
    maxConnections: 100,
    maxWaiting: 100,
  })
}

/** Creates a service entry as the SDK does, with many nodes. */
function makeService(index: number, nodes: number): Service {
  const name = `go.mx.api.s${index}`
  const value = {
    name: 'CallRequest',
    type: 'CallRequest',
    values: [{ name: 'name', type: 'string', values: [] }],
  }
  return {
    name,
    version: 'latest',
    metadata: {},
    endpoints: ['Get', 'List', 'Add'].map((method) => ({
      name: `S${index}.${method}`,
      request: value,
      response: value,
      metadata: { path: `/s${index}/${method.toLowerCase()}`, method: 'GET' },
    })),
    nodes: Array.from({ length: nodes }, (_, node) => toNode(index, node)),
  }
}

function toNode(index: number, node: number): Service['nodes'][number] {
  return {
    id: `go.mx.api.s${index}-${node}`,
    address: `10.${index >> 8}.${index & 255}.${1 + (node % 250)}:8080`,
    metadata: { protocol: 'mx', transport: 'http', server: 'uws', registry: 'memory' },
  }
}

/**
 * Measures nanoseconds per route and pick with the services in round-robin order, and returns the best of several
 * rounds.
 */
function measurePick(directory: ServiceCache, services: number): number {
  const route = createRouter({ resolver: proxy, directory })
  const exchanges = Array.from({ length: services }, (_, i) => {
    const x = new BenchExchange([], `/s${i}/hello`)
    x.namespace = 'go.mx.api'
    return x
  })
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < PICKS_ROUNDS; round++) {
    const startMs = performance.now()
    for (let i = 0, at = 0; i < PICKS; i++) {
      const x = exchanges[at]!
      at = at + 1 === services ? 0 : at + 1
      void route(x)
      x.upstream!.pick(x)
    }
    best = Math.min(best, ((performance.now() - startMs) / PICKS) * 1e6)
  }
  return best
}

function readMemory(): string {
  globalThis.gc?.()
  globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  return `resident ${Math.round(rss / 1e6)} MB, heap ${Math.round(heapUsed / 1e6)} MB`
}

async function main(count: number, nodes: number): Promise<void> {
  const print = (label: string, value: string): void => {
    process.stdout.write(`${label.padEnd(44)} ${value}\n`)
  }
  print('before', readMemory())
  const registry = createMemoryRegistry()
  const registerMs = await time(async () => {
    for (let i = 0; i < count; i++) await registry.register!(makeService(i, nodes))
  })
  print(`register ${count} services x ${nodes} nodes`, `${registerMs.toFixed(0)} ms`)
  print('memory of the registry', readMemory())

  const directory = new ServiceCache(registry, {
    upstream: () => ({ createPool }),
    maxUnused: count,
  })
  const upstreams: Upstream[] = []
  const findMs = await time(async () => {
    for (let i = 0; i < count; i++) upstreams.push((await directory.find(`go.mx.api.s${i}`))!)
  })
  print('look up all services', `${findMs.toFixed(0)} ms`)
  print('memory with the service cache', readMemory())

  let resolver: ReturnType<typeof endpoint> | undefined
  const catalogMs = await time(async () => {
    resolver = endpoint({ inner: proxy, registry, domain: '', onWarning: () => {} })
    await resolver.ready
  })
  print('read all declared routes', `${catalogMs.toFixed(0)} ms`)
  print('memory with the routes', readMemory())

  let slowestMs = 0
  const changesMs = await time(async () => {
    for (let i = 0; i < CHANGES; i++) {
      const index = (i * 7919) % count
      const { nodes: before } = upstreams[index]!
      const node = { ...makeService(index, 0), nodes: [toNode(index, nodes + i)] }
      slowestMs = Math.max(slowestMs, await time(async () => registry.register!(node)))
      if (upstreams[index]!.nodes.length !== before.length + 1) throw new Error('nothing changed')
      await registry.deregister!(node)
    }
  })
  print('add and remove a node', `${((changesMs / CHANGES) * 1000).toFixed(0)} us`)
  print('  slowest until it is used', `${slowestMs.toFixed(2)} ms`)

  const small = new ServiceCache(registry, { upstream: () => ({ createPool }) })
  print('route and pick, 1 service', `${measurePick(small, 1).toFixed(0)} ns`)
  print(`route and pick, ${count} round-robin`, `${measurePick(directory, count).toFixed(0)} ns`)
  const { user, system } = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const idle = process.cpuUsage({ user, system })
  print('CPU usage when idle', `${((idle.user + idle.system) / 2e4).toFixed(1)} %`)
  print('final memory', readMemory())

  small.close()
  directory.close()
  resolver?.close?.()
  await registry.close?.()
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

const [services = '5000', nodes = '20'] = process.argv.slice(2)
await main(Number(services), Number(nodes))
