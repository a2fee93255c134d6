import { setTimeout as delay } from 'node:timers/promises'
import type {
  InstanceRegistrar,
  RegisteredInstance,
} from '../../adapters/runtime/process/instance-registrar.ts'
import type { Node, Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import type { Workload } from '../../core/contracts/runtime.ts'
import { RESOLVED } from '../../core/upstream/parse-node.ts'
import { Client } from '../../sdk/client/client.ts'
import { createEventFeed } from '../../sdk/events/event-feed.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import { register } from '../../sdk/service/registration.ts'
import { OWNER, toOwner } from '../../services/registry/nodes/node-owner.ts'
import { toAccountId } from '../../services/runtime/accounts.ts'

export interface InstanceRegistrarOptions {
  /** Where services of a namespace are registered. */
  readonly registryOf: (namespace: string) => Registry
  readonly log: ServiceLog
}

/** In the metadata of nodes: which copy of a workload they are (docs/runtime.md). */
const INSTANCE = 'instance'
const NOTHING = { name: '', type: '', values: [] }
const HEALTH_MS = 1000
const HEALTH_PAUSE_MS = 50
/** Gateways and clients have heard by then that a copy leaves. */
const SETTLE_MS = 300

/** What a runtime of processes asks of the platform, answered from its registries and by the copies themselves. */
export function createInstanceRegistrar({
  registryOf,
  log,
}: InstanceRegistrarOptions): InstanceRegistrar {
  /** Names that instances registered by, which are mostly those of their workloads. */
  const names = new Map<string, string>()
  return {
    async whenReady({ namespace, name }, instance, signal) {
      const registry = registryOf(namespace)
      const { service, address } = await findInstance(registry, name, instance, signal)
      names.set(instance, service)
      const client = new Client({ address, inProcess: false, retries: 0 })
      try {
        while (!(await isHealthy(client, service))) {
          signal.throwIfAborted()
          await delay(HEALTH_PAUSE_MS)
        }
        signal.throwIfAborted()
      } finally {
        client.close()
      }
    },

    async forget({ namespace, name }, instance) {
      const registry = registryOf(namespace)
      const service = names.get(instance) ?? name
      names.delete(instance)
      for (const version of await registry.getService(service)) {
        const nodes = version.nodes.filter(({ metadata }) => metadata[INSTANCE] === instance)
        if (nodes.length > 0) await registry.deregister?.({ ...version, nodes })
      }
    },

    async register(workload, instance, address): Promise<RegisteredInstance> {
      const entry = toEntry(workload, instance, address)
      const registry = registryOf(workload.namespace)
      let registration = await register({ registry, entry, log })
      let falling: Promise<void> | undefined
      const fall = async (): Promise<void> => {
        // So that there are no more signs of life of it.
        await registration.drain()
        registration = await register({ registry, entry: toDown(entry), log })
      }
      return {
        async leave() {
          if (falling === undefined) {
            await registration.drain()
            await delay(SETTLE_MS)
          } else await falling.catch(() => {})
          await registration.end()
        },

        fall() {
          falling ??= fall()
          return falling
        },
      }
    },
  }
}

/** A program of protocol `http` as the registry describes it, without nodes: the gateway passes on to it whatever its paths are. */
export function describeHttpProgram({
  name,
  version,
}: Pick<Workload, 'name' | 'version'>): Service {
  const route = { path: `/${name},/${name}/**`, handler: 'web' }
  const endpoint = { name: 'Http.Any', request: NOTHING, response: NOTHING, metadata: route }
  return { name, version, metadata: {}, endpoints: [endpoint], nodes: [] }
}

/** An instance of such a program, as others find it. */
function toEntry(workload: Workload, instance: string, address: string): Service {
  const { namespace, name } = workload
  // Other accounts could register nodes of the name otherwise, and receive its requests.
  const owner = toOwner({ issuer: namespace, id: toAccountId(workload) })
  const metadata = { protocol: 'http', [INSTANCE]: instance, [OWNER]: owner }
  const node: Node = { id: `${name}-${instance}`, address, metadata }
  return { ...describeHttpProgram(workload), nodes: [node] }
}

function toDown(entry: Service): Service {
  const nodes = entry.nodes.map(({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, state: 'down' },
  }))
  return { ...entry, nodes }
}

/** Waits until a copy has registered, by whatever name: mostly by that of its workload. */
async function findInstance(
  registry: Registry,
  likely: string,
  instance: string,
  signal: AbortSignal,
) {
  const changed = readServices(registry, likely, signal)
  for await (const service of changed) {
    // Some registries do not tell the nodes of all services at once.
    const versions = service.nodes.length > 0 ? [service] : await askFor(registry, service.name)
    for (const { name, nodes } of versions) {
      const node = nodes.find(({ metadata }) => metadata[INSTANCE] === instance)
      if (node !== undefined) return { service: name, address: toCallAddress(node) }
    }
  }
  throw signal.reason
}

/** Services that are registered, then each that changes, until the signal. */
async function* readServices(registry: Registry, likely: string, signal: AbortSignal) {
  const feed = createEventFeed<Service>({ id: 'runtime', maxWaiting: 100_000, onClose() {} })
  const push = (service: Service): void => feed.push(`${service.name}:${service.version}`, service)
  const hear = ({ type, service }: RegistryEvent): void => {
    if (type !== 'delete') push(service)
  }
  const stop = registry.watch?.(hear)
  // Consul tells watchers of all services no new node of one that it lists already.
  const stopLikely = registry.watch?.(hear, { service: likely })
  const end = (): void => void feed.return!()
  signal.addEventListener('abort', end)
  try {
    signal.throwIfAborted()
    for (const service of await registry.listServices()) push(service)
    yield* feed
  } finally {
    stop?.()
    stopLikely?.()
    signal.removeEventListener('abort', end)
  }
}

/** Where a node is called: at the address that was checked when it was registered, whatever its name stands for by now. */
function toCallAddress({ address, metadata }: Node): string {
  const [resolved = ''] = (metadata[RESOLVED] ?? '').split(',')
  if (resolved === '') return address
  const port = address.slice(address.lastIndexOf(':'))
  return `${resolved.includes(':') ? `[${resolved}]` : resolved}${port}`
}

/** A registry that does not answer is asked again when the service changes. */
async function askFor(registry: Registry, name: string): Promise<readonly Service[]> {
  try {
    return await registry.getService(name)
  } catch {
    return []
  }
}

async function isHealthy(client: Client, service: string): Promise<boolean> {
  try {
    const reply = await client.call<{ status?: string }>(service, 'Debug.Health', undefined, {
      timeoutMs: HEALTH_MS,
    })
    return reply.status === 'ok'
  } catch {
    return false
  }
}
