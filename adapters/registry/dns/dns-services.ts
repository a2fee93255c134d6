import type { Node, Service } from '../../../core/contracts/registry.ts'
import { type BackOff, createBackOff, toJittered } from '../../../lib/async/backoff.ts'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import { resolveNode, resolveSrv, type SrvName } from './names.ts'
import { createNameResolver, type NameResolver } from './resolver.ts'

/** How the names of a service are resolved. */
export interface DnsOptions {
  /**
   * Interval between resolutions in milliseconds, reduced by a random fraction of up to a tenth.
   */
  readonly refreshMs: number
  /** Name servers as `address` or `address:port`. If empty, the system's name servers are used. */
  readonly servers: readonly string[]
}

/** A service and the DNS options for its names. Without `dns`, the service is used as it is. */
export interface DnsService {
  readonly service: Service
  readonly srv: readonly SrvName[]
  readonly dns: DnsOptions | undefined
}

export interface DnsServicesOptions {
  /** Called when the addresses of a service changed, with all services. */
  readonly onChange: (services: readonly Service[]) => void
  /** Called when a name cannot be resolved, once until it resolves again. */
  readonly onFailure: (service: string, name: string, error: Error) => void
  /** Called when it resolves again. */
  readonly onRecovery: (service: string, name: string) => void
}

/** Services whose names are resolved periodically. */
export interface DnsServices {
  /**
   * Replaces the services and returns them with the addresses of their names. Unchanged services
   * keep their addresses; waits at most 5 s to resolve the names of new and changed services. Never
   * rejects.
   */
  readonly use: (services: readonly DnsService[]) => Promise<readonly Service[]>
  /** Services with the current addresses. */
  readonly list: () => readonly Service[]
  readonly close: () => void
}

/** Maximum wait for new names. */
const START_MS = 5000
/**
 * Delay of the first retry for a name that cannot be resolved. It doubles up to the refresh
 * interval.
 */
const RETRY_MS = 1000
/** Random fraction of the interval, so that gateways do not query simultaneously. */
const JITTER = 0.1

export function createDnsServices(options: DnsServicesOptions): DnsServices {
  let entries: readonly ResolvedService[] = []
  const list = (): readonly Service[] => entries.map(({ current }) => current)
  const onChange = (entry: ResolvedService): void => {
    if (entries.includes(entry)) options.onChange(list())
  }
  return {
    async use(services) {
      const old = new Map(entries.map((entry) => [entry.key, entry]))
      const next = services.map((input) => {
        const key = JSON.stringify(input)
        const known = old.get(key)
        old.delete(key)
        return known ?? new ResolvedService(key, input, options, onChange)
      })
      const pending = next.flatMap(({ first }) => first ?? [])
      if (pending.length > 0) await settlesWithin(Promise.all(pending), START_MS)
      for (const entry of old.values()) entry.close()
      entries = next
      return list()
    },

    list,

    close() {
      for (const entry of entries) entry.close()
    },
  }
}

/** A service with the last known addresses of each of its names. */
class ResolvedService {
  readonly key: string
  /** Settles after the first resolution; undefined if there is nothing to resolve. */
  readonly first: Promise<void> | undefined = undefined
  current: Service
  readonly #input: DnsService
  readonly #options: DnsServicesOptions
  readonly #onChange: (service: ResolvedService) => void
  readonly #resolver: NameResolver | undefined
  /** Nodes by position: first from nodes, then from SRV names. */
  readonly #nodes: (readonly Node[])[] = []
  readonly #failing = new Set<string>()
  readonly #backOff: BackOff | undefined
  #timer: NodeJS.Timeout | undefined = undefined
  #closed = false

  constructor(
    key: string,
    input: DnsService,
    options: DnsServicesOptions,
    onChange: (service: ResolvedService) => void,
  ) {
    this.key = key
    this.current = input.service
    this.#input = input
    this.#options = options
    this.#onChange = onChange
    const { dns } = input
    if (dns === undefined) return
    this.#resolver = createNameResolver(dns.servers)
    this.current = { ...input.service, nodes: [] }
    this.#backOff = createBackOff({ minMs: RETRY_MS, maxMs: dns.refreshMs })
    this.first = this.#refresh()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  async #refresh(): Promise<void> {
    const { service, srv } = this.#input
    const resolver = this.#resolver!
    const names = [
      ...service.nodes.map((node) => [node.address, () => resolveNode(node, resolver)] as const),
      ...srv.map((name) => [name.name, () => resolveSrv(name, resolver)] as const),
    ]
    await Promise.all(
      names.map(async ([name, resolve], i) => {
        try {
          this.#nodes[i] = await resolve()
          if (this.#failing.delete(name) && !this.#closed)
            this.#options.onRecovery(service.name, name)
        } catch (error) {
          // The last known addresses stay in use.
          if (this.#failing.has(name) || this.#closed) return
          this.#failing.add(name)
          this.#options.onFailure(service.name, name, error as Error)
        }
      }),
    )
    if (this.#closed) return
    if (this.#failing.size === 0) this.#backOff!.reset()
    const delayMs =
      this.#failing.size > 0
        ? this.#backOff!.next()
        : toJittered(this.#input.dns!.refreshMs, JITTER)
    this.#timer = setTimeout(() => void this.#refresh(), delayMs).unref()
    const nodes = withoutDuplicates(this.#nodes.flat())
    if (JSON.stringify(nodes) === JSON.stringify(this.current.nodes)) return
    this.current = { ...service, nodes }
    this.#onChange(this)
  }
}

/** Removes duplicates, because two names may resolve to the same target. */
function withoutDuplicates(nodes: readonly Node[]): Node[] {
  return [...new Map(nodes.map((node) => [node.id, node])).values()]
}
