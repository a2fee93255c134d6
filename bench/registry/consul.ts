// Gateway with a large Consul catalog, in real processes: `npm run bench consul [-- services nodes]`.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readOrigin, writeResult } from '../http/results.ts'
import { isInstalled, readUsage } from '../http/servers/processes.ts'
import { makeLargeService, writeCatalog } from './catalog.ts'
import { measureChanges } from './faults/changes.ts'
import { type Figure, formatFigures, isWithinLimit } from './figures.ts'
import { startService } from './processes/programs.ts'
import { waitForResponse } from './query.ts'
import { onStage, type Stage, startConsul, toText } from './stage.ts'

const MIB = 1024 ** 2
/** Goals for 5 000 services of 20 nodes. */
const GOALS = { startMs: 2000, changeMs: 1000, memoryMiB: 300 }
/** Number of concurrent requests to unused services. */
const CLIENTS = 32
/** Maximum concurrent blocking queries to Consul, including the queries for the known service and the catalog. */
const WATCHED_AT_ONCE = 100

function* makeServices(services: number, nodes: number, address: string) {
  for (let i = 0; i < services; i++) {
    const name = toName(i)
    yield makeLargeService(
      name,
      Array.from({ length: nodes }, (_, node) => ({
        id: `${name}-${node}`,
        address,
        metadata: { protocol: 'http', transport: 'http', server: 'uws', registry: 'consul' },
      })),
    )
  }
}

const toName = (i: number): string => `go.mx.api.s${i}`

/** Requests one endpoint of every service, so that all services are in use. */
async function useAll({ gateway }: Stage, from: number, to: number): Promise<void> {
  let next = from
  const work = async (): Promise<void> => {
    while (next < to) {
      const reply = await fetch(`http://${gateway.address}/s${next++}/bench/where`)
      await reply.arrayBuffer()
      if (reply.status !== 200) throw new Error(`s${next - 1} responded with ${reply.status}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
}

/** Measures the time from the registration of a node to its first response, while balancing across 20 other nodes. */
async function measureNode(stage: Stage, i: number): Promise<number> {
  const service = await startService(toName(i), '')
  try {
    const node = {
      ...stage.knownEntry.nodes[0]!,
      id: `${toName(i)}-real`,
      address: service.address,
    }
    await stage.registry.register!({ ...stage.knownEntry, name: toName(i), nodes: [node] })
    const url = `http://${stage.gateway.address}/s${i}/bench/where`
    return await waitForResponse(url, ({ pid }) => pid === service.program.pid, 150_000)
  } finally {
    await service.stop()
  }
}

async function measure(services: number, nodes: number): Promise<readonly Figure[]> {
  const agent = await startConsul()
  // Serves all nodes of all services.
  const backend = createServer((_, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  const { port } = backend.address() as AddressInfo
  const note = (text: string): boolean => process.stderr.write(`${text}\n`)
  try {
    note(`writing ${services} services of ${nodes} nodes`)
    const startMs = performance.now()
    await writeCatalog(agent, makeServices(services, nodes, `127.0.0.1:${port}`))
    const writtenMs = performance.now() - startMs
    return await onStage({ registry: toText(agent), services: 1 }, async (stage) => {
      const { probe, program, readyMs } = stage.gateway
      const readMiB = (): number => readUsage(program.pid).rssBytes / MIB
      const startMiB = readMiB()
      note('changes')
      const changes = await measureChanges(stage, GOALS.changeMs)
      note('using some services')
      const watched = Math.min(WATCHED_AT_ONCE, services)
      await useAll(stage, 0, watched)
      const watchedMs = await measureNode(stage, watched - 1)
      note('using all services')
      await probe.reset()
      const useMs = performance.now()
      await useAll(stage, watched, services)
      const usedMs = performance.now() - useMs
      const usedMiB = readMiB()
      const { loop } = await probe.sample()
      const lastMs = await measureNode(stage, services - 1)
      const finalMiB = readMiB()
      const { heapUsed, external } = await probe.collect()
      const memory = { unit: 'MiB', most: GOALS.memoryMiB } as const
      const change = { unit: 'ms', most: GOALS.changeMs } as const
      return [
        { label: 'services written to Consul in', value: writtenMs / 1000, unit: 's' },
        {
          label: 'the gateway was ready after',
          value: readyMs,
          unit: 'ms',
          atMost: GOALS.startMs,
        },
        { label: 'resident memory after the start', value: startMiB, ...memory },
        ...changes,
        {
          label: `until a new node was used, ${watched} services in use`,
          value: watchedMs,
          ...change,
        },
        { label: 'all services were in use after', value: usedMs / 1000, unit: 's' },
        { label: 'event loop delay in the meantime, p99', value: loop.p99Ms, unit: 'ms' },
        { label: 'resident memory with all services in use', value: usedMiB, ...memory },
        { label: 'until a new node was used, all services in use', value: lastMs, ...change },
        {
          label: 'resident memory at the end',
          value: finalMiB,
          ...memory,
          detail: `${((heapUsed + external) / MIB).toFixed(0)} after garbage collection, without code`,
        },
      ]
    })
  } finally {
    backend.closeAllConnections()
    backend.close()
    await agent.stop()
  }
}

/** @returns true if all figures meet their goals. */
async function main([services = '5000', nodes = '20']: readonly string[]): Promise<boolean> {
  if (!isInstalled('consul'))
    throw new Error('consul is not installed: scripts/test-servers.sh installs it')
  const figures = await measure(Number(services), Number(nodes))
  const title = `Consul with ${services} services of ${nodes} nodes`
  const passed = figures.every(isWithinLimit)
  const table = formatFigures(figures)
  const path = writeResult(
    'registry-consul',
    title,
    readOrigin('npm run bench consul --', 'one Consul agent'),
    { figures, passed },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  return passed
}

main(process.argv.slice(2)).then(
  (passed) => process.exit(passed ? 0 : 1),
  (error) => {
    process.stderr.write(`bench consul: ${error instanceof Error ? error.message : error}\n`)
    process.exit(1)
  },
)
