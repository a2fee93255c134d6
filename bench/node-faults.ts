// Failed requests while nodes fail, compared with other proxies: `npm run bench node-faults [-- faults]`.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { openDnsServer } from '../test/fixtures/dns-server.ts'
import {
  createFolder,
  findPort,
  OTHER_CORES,
  type Program,
  startProgram,
} from './http/servers/processes.ts'
import { type Backends, CONTESTANTS, type Contestant } from './node-faults/contestants.ts'
import { type LoadFigures, runLoad } from './node-faults/load.ts'
import type { Change, Mode } from './node-faults/node.ts'
import { reportRows } from './report/rows.ts'
import { toNodeCommand } from './rivals/rival.ts'

interface Fault {
  readonly title: string
  readonly nodes: number
  /** Number of nodes that fail. */
  readonly failing: number
  readonly mode: Mode
  /** True if failing nodes accept connections. @default true */
  readonly listens?: boolean
  /** True to stop the process of the first node (SIGSTOP), whose sockets stay open. */
  readonly isStopped?: boolean
  /**
   * True if the nodes are three addresses of one name at a time. One stops and is removed, and another is added.
   */
  readonly moves?: boolean
  /**
   * Interval in milliseconds at which the failing nodes alternately recover and fail.
   * @default fail once, until the end
   */
  readonly everyMs?: number
}

const FAULTS: Readonly<Record<string, Fault>> = {
  errors: { title: 'responds 500', nodes: 3, failing: 1, mode: 'error' },
  resets: { title: 'resets connections', nodes: 3, failing: 1, mode: 'reset' },
  hangs: { title: 'never responds', nodes: 3, failing: 1, mode: 'hang' },
  slow: { title: 'responds after 700 ms', nodes: 3, failing: 1, mode: 'slow' },
  stopped: { title: 'is stopped, sockets open', nodes: 3, failing: 1, mode: 'ok', isStopped: true },
  down: { title: 'accepts no connections', nodes: 3, failing: 1, mode: 'ok', listens: false },
  'sometimes-slow': {
    title: 'all nodes: 1.5% of responses after 700 ms',
    nodes: 3,
    failing: 3,
    mode: 'sometimes-slow',
  },
  flapping: {
    title: '100 of 120 nodes go down and up every second',
    nodes: 120,
    failing: 100,
    mode: 'ok',
    listens: false,
    everyMs: 1000,
  },
  moves: {
    title: 'DNS: every 2 s a node goes down and another one replaces it',
    nodes: 8,
    failing: 1,
    mode: 'ok',
    moves: true,
    everyMs: 2000,
  },
}
/** Number of addresses that the name resolves to at a time. */
const RESOLVED = 3
const NAME = 'shop.test'
const FIRST_PORT = 20_000
const PER_SECOND = 300
const FAULT_FROM_MS = 2000
const DURATION_MS = 12_000

const chosen = process.argv.slice(2)
const unknown = chosen.find((name) => !(name in FAULTS))
if (unknown !== undefined) {
  process.stderr.write(
    `unknown fault ${unknown}, must be one of ${Object.keys(FAULTS).join(', ')}\n`,
  )
  process.exit(2)
}
const proxies = CONTESTANTS.filter(({ version }) => version() !== undefined)
const rows = []
for (const [name, fault] of Object.entries(FAULTS)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  for (const proxy of proxies) {
    const { requests, sent, failed, p50Ms, p99Ms } = await measure(fault, proxy)
    const row = {
      fault: fault.title,
      proxy: proxy.name,
      failed,
      'p50 ms': p50Ms.toFixed(1),
      'p99 ms': p99Ms.toFixed(0),
      'requests to nodes': `${((requests / sent - 1) * 100).toFixed(1)}%`,
    }
    process.stderr.write(`${JSON.stringify(row)}\n`)
    rows.push(row)
  }
}
const conditions = `${PER_SECOND} requests/s for ${DURATION_MS / 1000} s, in an open loop; every tenth is a POST. The fault starts after ${FAULT_FROM_MS / 1000} s. Failed requests have a 5xx response, a lost connection or no response. Requests to nodes: relative to the number of client requests, including health checks. Connect and response timeouts: 1 s`
reportRows('node-faults', 'Failing nodes', conditions, rows)

async function measure(
  fault: Fault,
  proxy: Contestant,
): Promise<LoadFigures & { readonly requests: number }> {
  const folder = createFolder()
  const closing: (() => unknown)[] = []
  const addresses = await findAddresses(fault)
  const names = await openDnsServer({ teardown: (close) => closing.push(close) })
  names.records.set(NAME, listHosts(addresses.slice(0, RESOLVED)))
  const dns = { name: addresses[0]!.replace(/.*:/, `${NAME}:`), server: names.address }
  const backends: Backends = { addresses, ...(fault.moves && { dns }) }
  // The first node has its own process, so that it can be stopped.
  const first = await startNodes(addresses.slice(0, 1))
  const otherNodes = await startNodes(addresses.slice(1))
  const port = await findPort()
  const program = startProgram(proxy.prepare(folder, port, backends), OTHER_CORES)
  try {
    await waitFor(port, program)
    const close = (node: number): void => {
      const change: Change = { nodes: [Math.max(0, node - 1)], mode: 'ok', listens: false }
      void (node === 0 ? first : otherNodes).send(change)
    }
    let moved = 0
    const move = (): void => {
      close(moved++)
      names.records.set(NAME, listHosts(addresses.slice(moved, moved + RESOLVED)))
    }
    let isFailing = false
    const toggleFault = (): void => {
      isFailing = !isFailing
      if (fault.isStopped) first.kill('SIGSTOP')
      const mode = isFailing ? fault.mode : 'ok'
      const listens = !isFailing || fault.listens !== false
      const change = (nodes: number[]): Change => ({ nodes, mode, listens })
      first.send(change([0]))
      if (fault.failing > 1)
        otherNodes.send(change(Array.from({ length: fault.failing - 1 }, (_, i) => i)))
    }
    const times = fault.everyMs === undefined ? [FAULT_FROM_MS] : []
    if (fault.everyMs !== undefined)
      for (let ms = FAULT_FROM_MS; ms < DURATION_MS; ms += fault.everyMs) times.push(ms)
    const figures = await runLoad(
      port,
      PER_SECOND,
      DURATION_MS,
      times.map((ms) => [ms, fault.moves ? move : toggleFault] as const),
    )
    first.kill('SIGCONT')
    const requests = (await countRequests(first)) + (await countRequests(otherNodes))
    return { ...figures, requests }
  } finally {
    await program.stop()
    for (const nodes of [first, otherNodes]) {
      nodes.kill('SIGCONT')
      nodes.kill('SIGKILL')
    }
    for (const close of closing) close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function listHosts(addresses: readonly string[]): string[] {
  return addresses.map((address) => address.split(':')[0]!)
}

/** Free addresses for the nodes. Addresses of one name differ only in the host. */
async function findAddresses({ nodes, moves }: Fault): Promise<string[]> {
  const ports = await findPorts(moves ? 1 : nodes)
  return moves
    ? Array.from({ length: nodes }, (_, i) => `127.0.0.${11 + i}:${ports[0]}`)
    : ports.map((port) => `127.0.0.1:${port}`)
}

/** Free ports below the range of outgoing connections, which could otherwise take the port of a node that is down. */
async function findPorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let port = FIRST_PORT; ports.length < count; port++) {
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) ports.push(port)
  }
  return ports
}

async function startNodes(addresses: readonly string[]): Promise<ChildProcess> {
  const [, ...args] = toNodeCommand('node-faults/node', ...addresses)
  const isSource = args[0] === '--import'
  const [module, ...rest] = isSource ? args.slice(2) : args
  const child = fork(module!, rest, { execArgv: isSource ? args.slice(0, 2) : [] })
  await once(child, 'message')
  return child
}

async function countRequests(nodes: ChildProcess): Promise<number> {
  nodes.send('requests')
  const [count] = await once(nodes, 'message')
  return count
}

/** Resolves once the proxy responds. */
async function waitFor(port: number, program: Program): Promise<void> {
  while (!program.exited()) {
    try {
      const { ok } = await fetch(`http://127.0.0.1:${port}/shop/`, {
        signal: AbortSignal.timeout(1000),
      })
      if (ok) return
    } catch {
      // The proxy is still starting.
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`the proxy has exited: ${program.output()}`)
}
