import type { Registry, Service } from '../../core/contracts/registry.ts'
import { openRegistry } from '../../sdk/registry/open-registry.ts'
import { OTHER_CORES, toPinned } from '../http/servers/processes.ts'
import type { Probe } from './probe.ts'
import { type ConsulAgent, startConsulAgent } from './processes/consul-agent.ts'
import {
  type ProbedProgram,
  type ProgramOptions,
  startGateway,
  startRegistryService,
  startService,
} from './processes/programs.ts'
import { waitForResponse } from './query.ts'

/** Full name of the called service. */
export const KNOWN = 'go.mx.api.bench'
/** Full name of a service that is registered later. */
export const LATE = 'go.mx.api.late'

/** A registry as a separate process. */
export interface RunningRegistry {
  /** Registry address for `openRegistry`. */
  readonly text: string
  /** Probe of the registry; undefined if it is not a Node.js program. */
  readonly probe: Probe | undefined
  readonly stop: () => Promise<void>
}

/** A gateway, its services and their registry, as separate processes. */
export interface Stage {
  readonly gateway: ProbedProgram
  /** Nodes of {@link KNOWN}. */
  readonly services: readonly Omit<ProbedProgram, 'readyMs'>[]
  /** Client of the same registry in this process. */
  readonly registry: Registry
  /** Registry entry of {@link KNOWN}. */
  readonly knownEntry: Service
  /** URLs that call {@link KNOWN} and {@link LATE}. */
  readonly url: string
  readonly lateUrl: string
}

export interface StageOptions extends ProgramOptions {
  /** Registry address for services. */
  readonly registry: string
  /** Registry address for the gateway. @default registry */
  readonly gatewayRegistry?: string
  readonly services: number
}

/** Starts Consul on the processors reserved for unmeasured programs. */
export function startConsul(): Promise<ConsulAgent> {
  const wrap = (command: readonly string[]) => toPinned(command, OTHER_CORES)
  return startConsulAgent({ program: 'consul', wrap })
}

/** Starts Consul or the registry service as a process. */
export async function startRegistry(
  kind: 'consul' | 'mx',
  options: ProgramOptions = {},
): Promise<RunningRegistry> {
  if (kind === 'consul') {
    const agent = await startConsul()
    return { text: toText(agent), stop: agent.stop, probe: undefined }
  }
  const { address, stop, probe } = await startRegistryService(options)
  return { text: `mx://${address}`, stop, probe }
}

export function toText({ host, port }: { readonly host?: string; readonly port: number }): string {
  return `consul://${host ?? '127.0.0.1'}:${port}`
}

/** Starts a stage, waits until all services respond through the gateway, runs `play`, and stops everything. */
export async function onStage<T>(
  { registry: text, gatewayRegistry = text, services: count, ...options }: StageOptions,
  run: (stage: Stage) => Promise<T>,
): Promise<T> {
  const closers: (() => Promise<unknown>)[] = []
  try {
    const { registry, close } = openRegistry(text)
    closers.push(close)
    const services: Stage['services'][number][] = []
    for (let i = 0; i < count; i++) {
      const service = await startService(KNOWN, text, options)
      services.push(service)
      closers.push(service.stop)
    }
    const gateway = await startGateway(gatewayRegistry, options)
    closers.push(gateway.stop)
    const url = `http://${gateway.address}/bench/where`
    const missing = new Set(services.map(({ program }) => program.pid))
    await waitForResponse(url, ({ pid }) => missing.delete(pid) && missing.size === 0)
    const lateUrl = `http://${gateway.address}/late/bench/where`
    const [knownEntry] = await registry.getService(KNOWN)
    return await run({ gateway, services, registry, knownEntry: knownEntry!, url, lateUrl })
  } finally {
    for (const end of closers.reverse()) await end()
  }
}

/** Registers a running service as another node of `name`, with the endpoints of {@link KNOWN}. */
export async function addNode(
  { registry, knownEntry }: Pick<Stage, 'registry' | 'knownEntry'>,
  name: string,
  address: string,
): Promise<void> {
  const node = { ...knownEntry.nodes[0]!, id: `late-${address}`, address }
  await registry.register!({ ...knownEntry, name, nodes: [node] }, { ttlSeconds: 600 })
}
