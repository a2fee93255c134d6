// A service that receives ten times its capacity, with different concurrency limits: `npm run bench overload`. Fails if
// a goal is missed.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cores, createFolder, findPort, startProgram } from './http/servers/processes.ts'
import { waitUntilOpen } from './http/servers/ready.ts'
import { runLoad } from './overload/load.ts'
import { guardGoals } from './report/goals.ts'
import { reportRows } from './report/rows.ts'
import { toNodeCommand } from './rivals/rival.ts'

const ANY_CORE: Cores = []
const SLOTS = 16
const SERVICE_MS = 100
const CAPACITY = (SLOTS * 1000) / SERVICE_MS
const DURATION_MS = 12_000
const WARM_UP_MS = 5000
const UNLOADED = { '/critical': CAPACITY / 10 }
const OVERLOAD = { ...UNLOADED, '/default': CAPACITY * 3.9, '/batch': CAPACITY * 6 }
const KINDS = {
  'no limit': 'off',
  [`limit: ${SLOTS}`]: `{ limit: ${SLOTS} }`,
  'limit: auto': '{ limit: auto }',
}

const rows = []
const goals = []
for (const [kind, concurrency] of Object.entries(KINDS)) {
  const { unloadedMs, goodput, p99Ms, shares } = await measure(concurrency)
  rows.push({
    concurrency: kind,
    'goodput of capacity': `${Math.round(goodput * 100)}%`,
    'critical p99, unloaded, ms': unloadedMs.toFixed(0),
    'critical p99, ms': p99Ms.toFixed(0),
    ...shares,
  })
  if (concurrency === 'off') continue
  goals.push({ label: `${kind}, goodput`, value: goodput, atLeast: 0.9 })
  goals.push({ label: `${kind}, critical p99 / unloaded`, value: p99Ms / unloadedMs, atMost: 2 })
}
const conditions = `A node that serves ${SLOTS} requests concurrently in ${SERVICE_MS / 2} to ${SERVICE_MS * 1.5} ms each receives ten times its capacity of ${CAPACITY} requests/s for ${DURATION_MS / 1000} s in an open loop. One percent of the requests is critical. Goodput counts responses with status 200 within 1 s; the columns of the priorities show their share of good responses`
reportRows('overload', 'Overload', conditions, rows)
guardGoals(goals)

async function measure(concurrency: string) {
  const folder = createFolder()
  const nodePort = await findPort()
  const node = startProgram(
    toNodeCommand('overload/node', `${nodePort}`, `${SLOTS}`, `${SERVICE_MS}`),
    ANY_CORE,
  )
  await waitUntilOpen(node, nodePort)
  const port = await findPort()
  const config = join(folder, 'mx.yaml')
  writeFileSync(
    config,
    `handler: proxy
retry: off
services: { shop: { nodes: ['127.0.0.1:${nodePort}'], concurrency: ${concurrency} } }
routes:
${['critical', 'default', 'batch'].map((name) => `  - { match: { path: /${name} }, service: shop, priority: ${name} }\n`).join('')}`,
  )
  const gateway = startProgram(
    toNodeCommand(
      '../cli/main',
      ...['api', `--config=${config}`, `--address=127.0.0.1:${port}`],
      ...['--access_log=off', '--log_level=error'],
    ),
    ANY_CORE,
  )
  try {
    await waitUntilOpen(gateway, port)
    const unloaded = await runLoad(port, UNLOADED, DURATION_MS)
    await runLoad(port, OVERLOAD, WARM_UP_MS)
    const loaded = await runLoad(port, OVERLOAD, DURATION_MS)
    const successful = Object.values(loaded).reduce((sum, each) => sum + each.successful, 0)
    const shares = Object.entries(loaded).map(([path, { sent, successful }]) => [
      path.slice(1),
      `${((successful / sent) * 100).toFixed(1)}%`,
    ])
    return {
      unloadedMs: unloaded['/critical']!.p99Ms,
      goodput: successful / ((CAPACITY * DURATION_MS) / 1000),
      p99Ms: loaded['/critical']!.p99Ms,
      shares: Object.fromEntries(shares) as Readonly<Record<string, string>>,
    }
  } finally {
    await gateway.stop()
    await node.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
