import type { Broker } from '../../core/contracts/broker.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { noQuota, type Quota } from '../../core/limits/quota.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { runProcess } from '../../sdk/signals.ts'
import { createDomains } from './domains.ts'
import { createEndpoints } from './endpoints.ts'
import { createLeaveOut } from './fit-message.ts'
import { createAddressCheck, type NodePolicy } from './nodes/check-addresses.ts'
import { publishChanges } from './publish-changes.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'What runs where'

/** What the registry service is told. */
export interface RegistryServiceOptions
  extends Omit<ServiceOptions, 'name' | 'registry' | 'broker'> {
  /** Makes the registry that holds a domain; closed with the service. */
  readonly createRegistry: (domain: string) => Registry
  /** Domains in which others registered services, who share the registries; asked for every question. @default none */
  readonly listDomains?: () => ReadonlySet<string>
  /** Gets every change, on the topic `<domain>.registry.events`. Its owner closes it. @default nobody */
  readonly broker?: Pick<Broker, 'publish'>
  /** Watchers at a time; one more is refused with 429. @default 50000 */
  readonly maxWatchers?: number
  /** Decides where nodes may be that others than operators register. @default anywhere */
  readonly policy?: NodePolicy
  /** Nodes a namespace may register; one more is refused with 429. @default no limits */
  readonly quota?: Quota
  /** Milliseconds since 1970. @default Date.now */
  readonly nowMs?: () => number
}

/** The registry of a platform, as a service of it. */
export interface RegistryService {
  /** Not started yet. */
  readonly service: Service<object>
  /** That of the default domain, where the service itself is registered. */
  readonly registry: Registry
  /**
   * Starts the service as what its process is for: it closes in order, those who watch included, at SIGTERM and SIGINT, with
   * status 0; when it cannot start, the log says why in a line, and the process ends with status 1.
   *
   * @returns where it is reached, `host:port`.
   */
  readonly run: () => Promise<string>
  /** Ends the streams of those who watch, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends the streams of those who watch, stops the service, then closes the registries. */
  readonly close: () => Promise<void>
}

/**
 * The service `registry` (specification: Registry endpoints), over a registry for each domain.
 *
 * ```ts
 * import { createMemoryRegistry, createRegistryService } from 'mx-gateway/registry'
 *
 * await createRegistryService({ createRegistry: () => createMemoryRegistry() }).run()
 * ```
 *
 * @throws {TypeError} for options nobody knows, and a version or an address that is none.
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
  const leaveOut = createLeaveOut(service.log)
  const watches = createWatches({ domains, maxWatchers, nowMs, leaveOut })
  service.handle(
    'Registry',
    createEndpoints(
      domains,
      watches,
      leaveOut,
      createAccountChecks(rest.gate),
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
