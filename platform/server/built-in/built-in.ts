import type { Authorizer } from '../../../core/contracts/auth.ts'
import type { EventTopic } from '../../../core/contracts/events.ts'
import type { EgressPolicy } from '../../../core/egress/egress-policy.ts'
import type { CheckedBroker } from '../../../domain/broker/broker.ts'
import type { Network } from '../../../domain/mesh/network.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import type { ServiceLog } from '../../../sdk/log/service-log.ts'
import type { Service } from '../../../sdk/service/service.ts'
import type { ServiceHost } from '../../../sdk/service/shared-port.ts'
import type { AuthService } from '../../../services/auth/service.ts'
import type { SecretKey } from '../../../services/config/secrets/secret-key.ts'
import type { EventsService } from '../../../services/events/service.ts'
import type { ApiServiceOptions } from '../../../services/gateway/service.ts'
import type { StoreService } from '../../../services/store/service.ts'
import type { ExpectedServices } from '../../gateway/expected-services.ts'
import type { Settings } from '../../settings/settings.ts'
import type { AdminPassword } from '../bootstrap-accounts.ts'
import type { ServerRegistries } from '../server-registries.ts'

/** Dependencies of built-in services. */
export interface BuiltInContext {
  readonly settings: Settings
  readonly toFolder: (part: string) => string
  /** Whether there is a persistent data folder. */
  readonly hasFolder: boolean
  /** Folder for user files; undefined if files are not used. */
  readonly ownFolder: string | undefined
  /** Whether a random admin password can be shown to a person. */
  readonly canShowPassword: boolean
  readonly registries: ServerRegistries
  readonly broker: CheckedBroker
  readonly network: Network
  /** Receives the services that the runtime is expected to run. */
  readonly expected: Pick<ExpectedServices, 'add' | 'remove' | 'listKnown' | 'restore' | 'watch'>
  readonly gateway: GatewayPart
  readonly host: ServiceHost
  /** Authorizes external calls. */
  readonly authorizer: Authorizer
  /** Restricts outgoing connections on behalf of non-operators. */
  readonly egress: EgressPolicy
  readonly toLog: (service: string) => ServiceLog
  readonly onWarning: (message: string) => void
  /** Services created so far. */
  readonly created: CreatedParts
}

/** Gateway data for the `api` service. */
export type GatewayPart = Pick<ApiServiceOptions, 'metrics' | 'inFlight' | 'gateway'>

/** Services and secrets that later services depend on. */
export interface CreatedParts {
  store?: StoreService
  /** Encrypts secrets in the store; undefined if encryption is disabled. */
  secretKey?: SecretKey | undefined
  auth?: AuthService
  /** Undefined if no password was generated. */
  adminPassword?: AdminPassword | undefined
  events?: EventsService
}

/** A built-in service that has not been started yet. */
export interface BuiltIn {
  readonly service: Service<object>
  /**
   * Resolves once the service can serve callers. Later services are started without waiting.
   *
   * @default immediately
   */
  readonly ready?: Promise<void>
  /** Ends streams that do not end on their own. Other calls continue. */
  readonly endStreams: () => Maybe<void>
  /** Called once all services have started, for work that requires calls to other services. */
  readonly begin?: () => Promise<void>
  /** Ends running work after the last request, while other services are still available. */
  readonly end?: () => Promise<void>
  /** Ends the service's streams, stops it, and closes its resources. */
  readonly close: () => Promise<void>
}

export interface BuiltInEntry {
  readonly name: string
  /** @default always */
  readonly isEnabled?: (settings: Settings) => boolean
  /** @throws {Error} with a one-line message if a dependency is unavailable. */
  readonly create: (context: BuiltInContext) => Promise<BuiltIn>
}

/** Options of all services except the registry. */
export interface CommonOptions {
  readonly registry: ServerRegistries['registry']
  readonly host: ServiceHost
  readonly authorizer: Authorizer
  readonly log: ServiceLog
}

/** Common options of all services except the registry. */
export function toCommonOptions(
  name: string,
  { registries, host, authorizer, toLog }: BuiltInContext,
): CommonOptions {
  return { registry: registries.registry, host, authorizer, log: toLog(name) }
}

/** Publishes an event that programs can subscribe to. */
export async function publishEvent(
  topic: EventTopic,
  event: { readonly action: string },
  { events }: CreatedParts,
): Promise<void> {
  if (events === undefined) throw new Error('the events service is not available')
  await events.events.publish(topic, {
    payload: Buffer.from(JSON.stringify(event)),
    metadata: { action: event.action },
  })
}
