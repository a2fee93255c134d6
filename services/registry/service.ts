import type { Broker } from '../../core/contracts/broker.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { noQuota, type Quota } from '../../core/limits/quota.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { runProcess } from '../../sdk/signals.ts'
import { createDomains } from './domains.ts'
import { createEndpoints } from './endpoints.ts'
import { createReportOmitted } from './fit-message.ts'
import { createAddressCheck, type NodePolicy } from './nodes/check-addresses.ts'
import { publishChanges } from './publish-changes.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'Registered services and their nodes'

export interface RegistryServiceOptions
  extends Omit<ServiceOptions, 'name' | 'registry' | 'broker'> {
  /** Creates the registry of a domain, which is closed with the service. */
  readonly createRegistry: (domain: string) => Registry
  /**
   * Returns domains with services registered by other servers that share the registries. Called for
   * each query.
   *
   * @default none
   */
  readonly listDomains?: () => ReadonlySet<string>
  /**
   * Receives all changes on the `<domain>.registry.events` topic. Its owner closes it.
   *
   * @default none
   */
  readonly broker?: Pick<Broker, 'publish'>
  /** Maximum number of watchers; further watchers are rejected with 429. @default 50000 */
  readonly maxWatchers?: number
  /**
   * Policy for addresses of nodes that callers other than operators register.
   *
   * @default any address
   */
  readonly policy?: NodePolicy
  /**
   * Maximum number of nodes per namespace; further nodes are rejected with 429.
   *
   * @default no limits
   */
  readonly quota?: Quota
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

/** The built-in `registry` service. */
export interface RegistryService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Registry of the default domain, where the service itself is registered. */
  readonly registry: Registry
  /**
   * Starts the service as the main purpose of its process. SIGTERM and SIGINT close it gracefully,
   * including watches, with status 0. If it cannot start, it logs the reason and exits with status
   * 1.
   *
   * @returns its address as `host:port`.
   */
  readonly run: () => Promise<string>
  /** Ends watches and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Ends watches, stops the service, then closes the registries. */
  readonly close: () => Promise<void>
}

/**
 * The `registry` service (specification: Registry endpoints), with a registry for each domain.
 *
 * ```ts
 * import { createMemoryRegistry, createRegistryService } from 'mx-gateway/registry'
 *
 * await createRegistryService({ createRegistry: () => createMemoryRegistry() }).run()
 * ```
 *
 * @throws {TypeError} for unknown options, and an invalid version or address.
 */
export function createRegistryService(options: RegistryServiceOptions): RegistryService {
  const { createRegistry, listDomains, broker, ...more } = options
  const { maxWatchers = 50_000, nowMs = Date.now, policy, ...others } = more
  const { quota = noQuota('quota_registrations'), ...rest } = others
  const domains = createDomains(createRegistry, listDomains)
  const { registry } = domains.open(DEFAULT_DOMAIN, '')
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...rest,
    name: 'registry',
    registry,
  })
  const onOmit = createReportOmitted(service.log)
  const watches = createWatches({ domains, maxWatchers, nowMs, onOmit })
  service.handle(
    'Registry',
    createEndpoints(
      domains,
      watches,
      onOmit,
      createAccountChecks(rest.authorizer),
      rest.host?.address,
      createAddressCheck(policy),
      quota,
    ),
  )
  if (broker !== undefined) publishChanges(watches, broker, service.log)
  async function close(): Promise<void> {
    watches.close()
    await service.stop()
    await domains.close()
  }
  return {
    service,
    registry,
    endStreams: watches.close,
    run: () => runProcess({ start: () => service.start(), stop: close, log: service.log }),
    close,
  }
}
