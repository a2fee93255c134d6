// Compares a direct call with calls through the RPC proxy and the gateway, in the same run:
// `npm run bench rpc-proxy [-- rounds seconds]`.
import { execFileSync } from 'node:child_process'
import { runWrk } from './http/load/wrk.ts'
import { startRival } from './http/measure.ts'
import { readOrigin, writeResult } from './http/results.ts'
import { findScenario } from './http/scenarios.ts'
import { startBackend } from './http/servers/backend.ts'
import { SERVICE } from './http/servers/documents.ts'
import {
  CAN_PIN,
  findPort,
  isInstalled,
  MEASURED_CORES,
  OTHER_CORES,
  type Program,
  readUsage,
  startProgram,
} from './http/servers/processes.ts'
import { waitUntilOpen } from './http/servers/ready.ts'
import { median } from './report/median.ts'
import { mx } from './rivals/mx.ts'
import { toNodeCommand } from './rivals/rival.ts'
import { type CallLoad, loadCalls } from './rpc/call-load.ts'

const CALLERS = 64
const WARM_UP_SECONDS = 3
const [rounds = 3, seconds = 5] = process.argv.slice(2).map(Number)

/** A path to the service. */
interface CallPath {
  readonly name: string
  /** Intermediate program; undefined if none. */
  readonly program: Program | undefined
  readonly load: (seconds: number) => Promise<CallLoad>
}

interface Round extends CallLoad {
  /** User and system time of the intermediate program per call. */
  readonly cpuMicros: number
  readonly serviceMicros: number
}

if (!isInstalled('wrk')) throw new Error('wrk is not installed: apt-get install wrk')
// The callers run in this process.
if (CAN_PIN)
  execFileSync('taskset', ['-a', '-c', '-p', OTHER_CORES.join(','), String(process.pid)], {
    stdio: 'ignore',
  })
const scenario = findScenario('rpc')
const backend = await startBackend([scenario])
const { servicePort, servicePid } = backend

async function startProxy(): Promise<{ program: Program; port: number }> {
  const port = await findPort()
  const words = [String(port), SERVICE, String(servicePort)]
  const program = startProgram(toNodeCommand('rpc/proxy-process', ...words), MEASURED_CORES)
  await waitUntilOpen(program, port)
  return { program, port }
}

async function measure({ program, load }: CallPath): Promise<Round> {
  const before = program === undefined ? 0 : readUsage(program.pid).cpuMs
  const serviceBefore = readUsage(servicePid).cpuMs
  const result = await load(seconds!)
  const cpuMs = program === undefined ? 0 : readUsage(program.pid).cpuMs - before
  const serviceMs = readUsage(servicePid).cpuMs - serviceBefore
  const toMicros = (ms: number): number => (ms * 1000) / result.calls
  return { ...result, cpuMicros: toMicros(cpuMs), serviceMicros: toMicros(serviceMs) }
}

const proxy = await startProxy()
const gateway = await startRival(mx, scenario, backend)
const paths: readonly CallPath[] = [
  {
    name: 'gateway, GET over HTTP',
    program: gateway.program,
    async load(duration) {
      const { folder } = gateway.site
      const report = await runWrk(gateway.url, scenario, CALLERS, duration, folder)
      return { ...report, calls: report.requests, callsPerSecond: report.requestsPerSecond }
    },
  },
  {
    name: 'RPC proxy',
    program: proxy.program,
    load: (duration) => loadCalls(proxy.port, SERVICE, CALLERS, duration),
  },
  {
    name: 'direct',
    program: undefined,
    load: (duration) => loadCalls(servicePort, SERVICE, CALLERS, duration),
  },
]
try {
  for (const path of paths) await path.load(WARM_UP_SECONDS)
  const measured = paths.map(() => [] as Round[])
  for (let round = 0; round < rounds; round++) {
    for (const [i, path] of paths.entries()) {
      process.stderr.write(`round ${round + 1} of ${rounds}: ${path.name}\n`)
      measured[i]!.push(await measure(path))
    }
  }
  const rows = paths.map(({ name }, i) => {
    const toMedian = (read: (round: Round) => number) => median(measured[i]!.map(read))
    const ratio = median(
      measured[i]!.map(({ cpuMicros }, at) => cpuMicros / measured[0]![at]!.cpuMicros),
    )
    const cells = [
      toMedian((round) => round.callsPerSecond).toFixed(0),
      toMedian((round) => round.cpuMicros).toFixed(1),
      ratio.toFixed(2),
      toMedian((round) => round.serviceMicros).toFixed(1),
      toMedian((round) => round.p50Ms).toFixed(2),
      toMedian((round) => round.p99Ms).toFixed(2),
      measured[i]!.reduce((sum, { errors }) => sum + errors, 0),
    ]
    return `| ${name} | ${cells.join(' | ')} |`
  })
  const table = [
    '| path | calls/s | CPU µs per call, intermediary | relative to the gateway | CPU µs per call, service | p50 ms | p99 ms | errors |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows,
  ].join('\n')
  const note = `\n\n${CALLERS} callers, closed loop, ${rounds} interleaved rounds of ${seconds} s, medians.\n`
  const title = 'Call, 62 bytes of JSON: through the gateway, through the RPC proxy, direct'
  const origin = readOrigin('npm run bench rpc-proxy --', backend.describe(scenario))
  const path = writeResult('rpc-proxy', title, origin, { rounds, seconds, measured }, table + note)
  process.stdout.write(`\n## ${title}\n\n${table}${note}\nWritten to ${path}.md and .json\n`)
} finally {
  await gateway.stop()
  await proxy.program.stop()
  await backend.stop()
}
