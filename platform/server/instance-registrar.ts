import { setTimeout as delay } from 'node:timers/promises'
import type {
  InstanceRegistrar,
  RegisteredInstance,
} from '../../adapters/runtime/process/instance-registrar.ts'
import type { Node, Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import type { Workload } from '../../core/contracts/runtime.ts'
import { RESOLVED } from '../../core/upstream/node/parse-node.ts'
import { Client } from '../../sdk/client/client.ts'
import { createEventFeed } from '../../sdk/events/event-feed.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import { register } from '../../sdk/service/registration.ts'
import { OWNER, toOwner } from '../../services/registry/nodes/node-owner.ts'
import { toAccountId } from '../../services/runtime/accounts.ts'

export interface InstanceRegistrarOptions {
  /** Returns the registry of a namespace. */
  readonly registryOf: (namespace: string) => Registry
  readonly log: ServiceLog
}

/** Key of the node metadata with the instance of a workload (docs/runtime.md). */
const INSTANCE = 'instance'
const NOTHING = { name: '', type: '', values: [] }
const HEALTH_MS = 1000
const HEALTH_PAUSE_MS = 50
/** Time for gateways and clients to receive the deregistration. */
const SETTLE_MS = 300

/** Registers instances of the process runtime and checks their health. */
export function createInstanceRegistrar({
  registryOf,
  log,
}: InstanceRegistrarOptions): InstanceRegistrar {
  /** Registered service names by instance, usually the name of the workload. */
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
      let markingDown: Promise<void> | undefined
      const markDown = async (): Promise<void> => {
        // Draining stops the heartbeats.
        await registration.drain()
        registration = await register({ registry, entry: withDownNodes(entry), log })
      }
      return {
        async leave() {
          if (markingDown === undefined) {
            await registration.drain()
            await delay(SETTLE_MS)
          } else await markingDown.catch(() => {})
          await registration.end()
        },

        markFailed() {
          markingDown ??= markDown()
          return markingDown
        },
      }
    },
  }
}

/**
 * Returns the registry entry of a program with the `http` protocol, without nodes. The gateway proxies all paths to it.
 */
export function describeHttpProgram({
  name,
  version,
}: Pick<Workload, 'name' | 'version'>): Service {
  const route = { path: `/${name},/${name}/**`, handler: 'web' }
  const endpoint = { name: 'Http.Any', request: NOTHING, response: NOTHING, metadata: route }
  return { name, version, metadata: {}, endpoints: [endpoint], nodes: [] }
}

/** Returns the registry entry of an instance. */
function toEntry(workload: Workload, instance: string, address: string): Service {
  const { namespace, name } = workload
  // Without an owner, other accounts could register nodes with this name and receive its requests.
  const owner = toOwner({ issuer: namespace, id: toAccountId(workload) })
  const metadata = { protocol: 'http', [INSTANCE]: instance, [OWNER]: owner }
  const node: Node = { id: `${name}-${instance}`, address, metadata }
  return { ...describeHttpProgram(workload), nodes: [node] }
}

function withDownNodes(entry: Service): Service {
  const nodes = entry.nodes.map(({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, state: 'down' },
  }))
  return { ...entry, nodes }
}

/** Waits until an instance has registered under any name, usually the name of its workload. */
async function findInstance(
  registry: Registry,
  likely: string,
  instance: string,
  signal: AbortSignal,
) {
  const changed = readServices(registry, likely, signal)
  for await (const service of changed) {
    // Some registries list services without their nodes.
    const versions =
      service.nodes.length > 0 ? [service] : await fetchService(registry, service.name)
    for (const { name, nodes } of versions) {
      const node = nodes.find(({ metadata }) => metadata[INSTANCE] === instance)
      if (node !== undefined) return { service: name, address: toCallAddress(node) }
    }
  }
  throw signal.reason
}

/** Yields registered services, then changed services, until the signal is aborted. */
async function* readServices(registry: Registry, likely: string, signal: AbortSignal) {
  const feed = createEventFeed<Service>({ id: 'runtime', maxWaiting: 100_000, onClose() {} })
  const push = (service: Service): void => feed.push(`${service.name}:${service.version}`, service)
  const onEvent = ({ type, service }: RegistryEvent): void => {
    if (type !== 'delete') push(service)
  }
  const stop = registry.watch?.(onEvent)
  // Consul does not notify watchers of all services about new nodes of a listed service.
  const stopLikely = registry.watch?.(onEvent, { service: likely })
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

/**
 * Returns the address that was checked at registration, even if the name now resolves differently.
 */
function toCallAddress({ address, metadata }: Node): string {
  const [resolved = ''] = (metadata[RESOLVED] ?? '').split(',')
  if (resolved === '') return address
  const port = address.slice(address.lastIndexOf(':'))
  return `${resolved.includes(':') ? `[${resolved}]` : resolved}${port}`
}

/**
 * Returns an empty list on errors, because the next change to the service triggers another query.
 */
async function fetchService(registry: Registry, name: string): Promise<readonly Service[]> {
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
