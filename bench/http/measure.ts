import { rmSync } from 'node:fs'
import type { Rival, Site } from '../rivals/rival.ts'
import { checkGrpc } from './load/check-grpc.ts'
import { runH2load } from './load/h2load.ts'
import { runWrk } from './load/wrk.ts'
import type { Scenario } from './scenario.ts'
import { type BackendPorts, findBackendPort } from './servers/backend.ts'
import { writeCertificate } from './servers/certificate.ts'
import {
  type Cores,
  createFolder,
  findPort,
  MEASURED_CORES,
  type Program,
  readUsage,
  startProgram,
} from './servers/processes.ts'
import { waitUntilOpen, waitUntilReady } from './servers/ready.ts'

/** Long enough to compile hot code before a short measurement. */
const WARM_UP_SECONDS = 3

/** Result of one round of one rival. */
export interface Measurement {
  /** User and system time per request, summed over all processes. */
  readonly cpuMicros: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
  /** Peak resident memory since the start, summed over all processes. */
  readonly peakMiB: number
}

/** A running rival. */
export interface Running {
  readonly program: Program
  readonly url: string
  readonly site: Site
  readonly readyMs: number
  readonly stop: () => Promise<void>
}

export interface StartOptions {
  readonly cores?: Cores
  readonly workers?: number
  readonly idleServices?: number
  readonly wrap?: (command: readonly string[]) => readonly string[]
}

/** Starts a rival for a scenario and waits until it responds. */
export async function startRival(
  rival: Rival,
  scenario: Scenario,
  ports: BackendPorts,
  options: StartOptions = {},
): Promise<Running> {
  const { cores = MEASURED_CORES, workers = 1, idleServices = 0 } = options
  const { wrap = (command) => command } = options
  const folder = createFolder()
  const port = await findPort()
  const { pipeline, accessLog, connections = 0, path, readyPath = path } = scenario
  const site: Site = {
    ...{ folder, port, pipeline, workers, idleServices, accessLog, connections },
    ...{ routes: scenario.routes ?? 0, hasConditions: scenario.hasConditions ?? false },
    ...{ plugins: scenario.plugins ?? [], gzip: scenario.gzip ?? false },
    cache: scenario.cache ?? false,
    backendPort: findBackendPort(scenario, ports),
    servicePort: scenario.handler === 'rpc' ? ports.servicePort : undefined,
    tls: scenario.tls ? writeCertificate(folder) : undefined,
    http2: scenario.http2 ?? false,
    grpc: scenario.backend === 'grpc',
  }
  const program = startProgram(wrap(rival.prepare(site)), cores)
  const origin = `${scenario.tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  try {
    const readyMs = await (site.grpc
      ? waitUntilOpen(program, port)
      : waitUntilReady(program, `${origin}${readyPath}`))
    if (site.grpc) await checkGrpc(`${origin}${path}`, scenario)
    const stop = async () => {
      await program.stop()
      removeFolder()
    }
    return { program, url: `${origin}${path}`, site, readyMs, stop }
  } catch (error) {
    removeFolder()
    throw new Error(`${rival.name} is ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

/** Starts a rival, warms it up, loads it, and stops it. */
export async function measureRival(
  rival: Rival,
  scenario: Scenario,
  ports: BackendPorts,
  { connections, seconds }: { connections: number; seconds: number },
  options: StartOptions = {},
): Promise<Measurement> {
  const running = await startRival(rival, scenario, ports, options)
  const { pid } = running.program
  try {
    const run = scenario.http2 === true ? runH2load : runWrk
    const load = (duration: number) =>
      run(running.url, scenario, connections, duration, running.site.folder)
    await load(WARM_UP_SECONDS)
    const before = readUsage(pid)
    const { requests, requestsPerSecond, p50Ms, p99Ms, errors } = await load(seconds)
    const { cpuMs, peakBytes } = readUsage(pid)
    return {
      cpuMicros: ((cpuMs - before.cpuMs) * 1000) / requests,
      ...{ requestsPerSecond, p50Ms, p99Ms, errors },
      peakMiB: peakBytes / 1024 ** 2,
    }
  } finally {
    await running.stop()
  }
}
