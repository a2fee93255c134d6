import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type Cores,
  createFolder,
  findPort,
  MEASURED_CORES,
  OTHER_CORES,
  type Program,
  startProgram,
} from '../../http/servers/processes.ts'
import { waitUntilOpen } from '../../http/servers/ready.ts'
import { ROOT, toNodeCommand } from '../../rivals/rival.ts'
import { createProbe, type Probe } from '../probe.ts'

/** A running server program with a probe. */
export interface ProbedProgram {
  readonly program: Program
  readonly probe: Probe
  /** `host:port` */
  readonly address: string
  /** Time from the start until the program accepts connections. */
  readonly readyMs: number
  readonly stop: () => Promise<void>
}

export interface ProgramOptions {
  /** True if the wall clock can be shifted. @default false */
  readonly clock?: boolean
}

/** The published bundle, which starts faster than the separate modules. */
const MAIN = join(ROOT, 'dist/cli/bundle/mx.js')
const START_MS = 20_000

/** Starts `mx api` on the measured processor. @param registry registry address. */
export function startGateway(
  registry: string,
  options: ProgramOptions = {},
): Promise<ProbedProgram> {
  const words = ['api', `--registry=${registry}`, '--access_log=off']
  const toCommand = (port: number) => [
    ...[process.execPath, MAIN, ...words],
    `--address=127.0.0.1:${port}`,
  ]
  return startOnPort(toCommand, MEASURED_CORES, options)
}

/** Starts the registry service with an in-memory registry. */
export function startRegistryService(options: ProgramOptions = {}): Promise<ProbedProgram> {
  const toCommand = (port: number) =>
    toNodeCommand('registry/processes/registry-process', String(port))
  return startOnPort(toCommand, OTHER_CORES, options)
}

async function startOnPort(
  toCommand: (port: number) => readonly string[],
  cores: Cores,
  { clock = false }: ProgramOptions,
): Promise<ProbedProgram> {
  const folder = createFolder()
  const probe = createProbe(folder, clock)
  const port = await findPort()
  const program = startProgram(probe.wrap(toCommand(port)), cores)
  const stop = async (): Promise<void> => {
    await program.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const readyMs = await waitUntilOpen(program, port)
    return { program, probe, address: `127.0.0.1:${port}`, readyMs, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts a service (service-process.ts). @param registry registry address; empty if none. */
export async function startService(
  name: string,
  registry: string,
  { clock = false }: ProgramOptions = {},
): Promise<Omit<ProbedProgram, 'readyMs'>> {
  const folder = createFolder()
  const probe = createProbe(folder, clock)
  const command = toNodeCommand('registry/processes/service-process', name)
  const program = startProgram(probe.wrap(command), OTHER_CORES, { MX_REGISTRY: registry })
  const stop = async (): Promise<void> => {
    await program.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  const endMs = performance.now() + START_MS
  for (;;) {
    const address = readLines(program).find((line) => 'address' in line)?.['address']
    if (typeof address === 'string') return { program, probe, address, stop }
    if (program.exited() || performance.now() > endMs) {
      const output = program.output()
      await stop()
      throw new Error(`the service ${name} did not start: ${output}`)
    }
    await wait(10)
  }
}

/** Parses the JSON lines of a program's output. */
export function readLines(program: Program): Record<string, unknown>[] {
  const lines = program.log().split('\n').slice(0, -1)
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
