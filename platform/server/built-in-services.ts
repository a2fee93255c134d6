import { createPrivateKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createSecretHasher } from '../../core/auth/token/secret-hash.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { EventTopic } from '../../core/contracts/events.ts'
import type { Service as RegisteredService } from '../../core/contracts/registry.ts'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import { createQuota } from '../../core/limits/quota.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import type { Network } from '../../domain/mesh/network.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import type { Service } from '../../sdk/service/service.ts'
import type { ServiceHost } from '../../sdk/service/shared-port.ts'
import { type AuthService, openAuthService } from '../../services/auth/service.ts'
import { createBrokerService } from '../../services/broker/service.ts'
import { openSecretKey } from '../../services/config/secrets/open-secret-key.ts'
import type { SecretKey } from '../../services/config/secrets/secret-key.ts'
import { createConfigService } from '../../services/config/service.ts'
import { AUDIT_TOPIC, RUNTIME_TOPIC } from '../../services/events/reserved.ts'
import { createEventsService, type EventsService } from '../../services/events/service.ts'
import { type ApiServiceOptions, createApiService } from '../../services/gateway/service.ts'
import { createKnownServices } from '../../services/network/known-services.ts'
import { createNetworkService } from '../../services/network/service.ts'
import { createRegistryService } from '../../services/registry/service.ts'
import { createRuntimeService } from '../../services/runtime/service.ts'
import { createStoreService, type StoreService } from '../../services/store/service.ts'
import type { ExpectedServices } from '../gateway/expected-services.ts'
import type { Settings } from '../settings/settings.ts'
import {
  type AdminPassword,
  forgetPassword,
  forgetStalePassword,
  openFirstAccounts,
} from './bootstrap-accounts.ts'
import { describeHttpProgram } from './instance-registrar.ts'
import { openEvents, toEventsLimits } from './open/events.ts'
import { openIsolation } from './open/isolation.ts'
import { openRuntime, openRuntimeFolder } from './open/runtime.ts'
import { openStore } from './open/store.ts'
import type { ServerRegistries } from './server-registries.ts'

/** Dependencies of built-in services. */
export interface BuiltInContext {
  readonly settings: Settings
  /** Folder of a part. */
  readonly toFolder: (part: string) => string
  /** Whether there is a persistent data folder. */
  readonly hasFolder: boolean
  /** Folder for user files; undefined without one. */
  readonly ownFolder: string | undefined
  /** Whether a random admin password is shown to a person. */
  readonly canShowPassword: boolean
  readonly registries: ServerRegistries
  readonly broker: CheckedBroker
  readonly network: Network
  /** Receives the services that the runtime has to run. */
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

/** Gateway data of the `api` service. */
export type GatewayPart = Pick<ApiServiceOptions, 'metrics' | 'inFlight' | 'gateway'>

/** Services and secrets that later services depend on. */
export interface CreatedParts {
  store?: StoreService
  /** Encrypts secrets in the store; undefined without encryption. */
  secretKey?: SecretKey | undefined
  auth?: AuthService
  /** Undefined if no password was generated. */
  adminPassword?: AdminPassword | undefined
  events?: EventsService
}

/** A built-in service, not started yet. */
export interface BuiltIn {
  readonly service: Service<object>
  /** Resolves once it can serve callers; later services are started meanwhile. @default immediately */
  readonly ready?: Promise<void>
  /** Ends streams that do not end by themselves; other calls continue. */
  readonly endStreams: () => Maybe<void>
  /** Called once all services have started, for work that calls other services. */
  readonly begin?: () => Promise<void>
  /** Ends running work after the last request, while other services are still available. */
  readonly end?: () => Promise<void>
  /** Ends its streams, stops it, and closes its resources. */
  readonly close: () => Promise<void>
}

export interface BuiltInEntry {
  readonly name: string
  /** @default always */
  readonly isEnabled?: (settings: Settings) => boolean
  /** @throws {Error} with a one-line message when a dependency is unavailable. */
  readonly create: (context: BuiltInContext) => Promise<BuiltIn>
}

/** Secrets of tests need no expensive hashes. */
const TEST_COST = 4

/** Services of `mx server` in the order of their start; closed in reverse order. */
export const BUILT_IN_SERVICES: readonly BuiltInEntry[] = [
  {
    name: 'registry',
    async create({ settings, registries, broker, host, authorizer, egress, toLog }) {
      const { create, list } = registries
      return createRegistryService({
        createRegistry: create,
        listDomains: list,
        host,
        authorizer,
        policy: {
          egress,
          isLocal: settings.profile === 'local',
          programNamespaces:
            settings.runtime === 'process'
              ? [DEFAULT_NAMESPACE, ...settings.runtimeNamespaces]
              : [],
        },
        log: toLog('registry'),
        quota: createQuota('quota_registrations', settings.quotaRegistrations),
        // With a shared registry, every server would publish the same changes.
        ...(settings.registry === 'memory' && { broker }),
      })
    },
  },
  {
    name: 'store',
    async create(context) {
      const { settings, onWarning, toFolder, created } = context
      const adapter = await openStore({ settings, folder: toFolder('store'), onWarning })
      created.store = createStoreService({ ...toOptions('store', context), adapter })
      return created.store
    },
  },
  {
    name: 'config',
    async create(context) {
      const { created } = context
      const { store } = created.store!
      const secretKey = await openSecretKey({ store, ...toKeyOptions(context) })
      created.secretKey = secretKey
      const options = { ...toOptions('config', context), store }
      return createConfigService({ ...options, ...(secretKey && { secretKey }) })
    },
  },
  {
    name: 'auth',
    async create(context) {
      const { settings, created, ownFolder: folder, canShowPassword, onWarning } = context
      const { authPrivateKey, profile } = settings
      // Audit records before the start of the events service are queued.
      let begin = (): void => {}
      const started = new Promise<void>((resolve) => {
        begin = resolve
      })
      const auth = await openAuthService({
        ...toOptions('auth', context),
        store: created.store!.store,
        findService: (namespace, name) => findRegistered(context.registries, namespace, name),
        async audit(record) {
          await forgetPassword(record, folder)
          await started
          await publishEvent(AUDIT_TOPIC, record, created)
        },
        quotas: {
          accounts: createQuota('quota_accounts', settings.quotaAccounts),
          rules: createQuota('quota_rules', settings.quotaRules),
        },
        ...(created.secretKey && { sealer: created.secretKey }),
        ...(authPrivateKey !== '' && { privateKey: createPrivateKey(authPrivateKey) }),
        ...(profile === 'test' && { hasher: createSecretHasher('auth', TEST_COST) }),
      })
      created.auth = auth
      // Hashes passwords while the other services start.
      const { accounts } = auth
      const first = { accounts, settings, folder, canShowPassword, onWarning }
      const ready = openFirstAccounts(first).then((password) => {
        created.adminPassword = password
      })
      const settled = ready.catch(() => {})
      let forgotten = Promise.resolve()
      return {
        ...auth,
        ready,
        async begin() {
          begin()
          if (created.adminPassword !== undefined) return
          forgotten = forgetStalePassword(accounts, folder).catch((error) =>
            onWarning(`cannot check the file of the initial password: ${error.message}`),
          )
        },
        async close() {
          await settled
          await forgotten
          await auth.close()
        },
      }
    },
  },
  {
    name: 'broker',
    async create(context) {
      return createBrokerService({ ...toOptions('broker', context), broker: context.broker })
    },
  },
  {
    name: 'events',
    async create(context) {
      const { settings, onWarning, toFolder, created } = context
      const adapter = await openEvents({ settings, folder: toFolder('events'), onWarning })
      created.events = createEventsService({
        ...toOptions('events', context),
        adapter,
        events: toEventsLimits(settings),
      })
      return created.events
    },
  },
  {
    name: 'network',
    async create(context) {
      const { settings, network, host, egress, created } = context
      const { leave, ...rest } = createNetworkService({
        ...toOptions('network', context),
        network,
        networkName: settings.network,
        nodes: settings.networkNodes,
        token: settings.networkToken,
        isOpen: settings.profile === 'test',
        store: created.store!.store,
        egress,
        advertise: host.address,
      })
      return { ...rest, endStreams: leave }
    },
  },
  {
    name: 'api',
    async create(context) {
      const { metrics, inFlight, gateway } = context.gateway
      return createApiService({ ...toOptions('api', context), metrics, inFlight, gateway })
    },
  },
  {
    name: 'runtime',
    isEnabled: ({ runtime }) => runtime !== 'none',
    create: createRuntime,
  },
]

export function listBuiltIns(settings: Settings): readonly BuiltInEntry[] {
  return BUILT_IN_SERVICES.filter(({ isEnabled }) => isEnabled?.(settings) ?? true)
}

/** Finds a service without creating a registry for its namespace. */
function findRegistered(
  { registry, create, list }: ServerRegistries,
  namespace: string,
  name: string,
): Maybe<readonly RegisteredService[]> {
  if (namespace === DEFAULT_NAMESPACE) return registry.getService(name)
  return list().has(namespace) ? create(namespace).getService(name) : []
}

async function createRuntime(context: BuiltInContext): Promise<BuiltIn> {
  const { settings, registries, network, host, created, toLog } = context
  const temporary = context.hasFolder ? undefined : await openRuntimeFolder()
  const folder = temporary?.path ?? context.toFolder('runtime')
  const log = toLog('runtime')
  const isProcess = settings.runtime === 'process'
  const hidden = context.ownFolder ?? folder
  const isolation = isProcess ? openIsolation({ settings, folder, hidden, log }) : undefined
  const { store } = created.store!
  const { expected } = context
  const known = createKnownServices({ store, key: `${network.id}:runtime`, source: expected, log })
  const { begin, close, ...rest } = createRuntimeService({
    ...{ ...toOptions('runtime', context), folder, log },
    store,
    runtime: await openRuntime({ settings, registries, folder, isolation, log }),
    namespaces: settings.runtimeNamespaces,
    ...(isolation !== undefined && { isolation }),
    accounts: created.auth!.accounts,
    ...(created.secretKey && { sealer: created.secretKey }),
    server: network.id,
    allowLocal: settings.profile === 'local',
    egress: context.egress,
    isAlone: isStorePrivate(settings),
    minFreeDiskBytes: settings.minFreeDiskBytes,
    quotas: {
      programs: createQuota('quota_programs', settings.quotaPrograms),
      builds: createQuota('quota_builds', settings.quotaBuilds),
      uploads: createQuota('quota_uploads', settings.quotaUploads),
    },
    reachedAt: host.address,
    onExpected: ({ namespace, name, version, protocol }, isExpected) => {
      if (!isExpected) return expected.remove(namespace, { name, version })
      const described = describeHttpProgram({ name, version })
      expected.add(namespace, protocol === 'http' ? described : { ...described, endpoints: [] })
    },
    events: (event) => publishEvent(RUNTIME_TOPIC, event, created),
  })
  return {
    ...rest,
    async begin() {
      await begin()
      await known.open()
    },
    async close() {
      await known.close()
      await close()
      await temporary?.close()
    },
  }
}

/** Common options of all services except the registry. */
function toOptions(name: string, { registries, host, authorizer, toLog }: BuiltInContext) {
  return { registry: registries.registry, host, authorizer, log: toLog(name) }
}

/** Publishes an event that programs can subscribe to. */
async function publishEvent(
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

/** Whether no other server uses the store. */
function isStorePrivate({ store }: Settings): boolean {
  return store === 'lmdb' || store === 'memory'
}

function toKeyOptions({ settings, ownFolder }: BuiltInContext) {
  const { configSecretKey, configSecretKeyPrevious: previousKey } = settings
  const previous = previousKey === '' ? {} : { previousKey }
  switch (configSecretKey) {
    case '':
      return previous
    case 'file':
      return { ...previous, file: join(ownFolder ?? '', 'config_secret_key') }
    case 'memory':
      return { ...previous, key: randomBytes(32).toString('base64') }
    default:
      return { ...previous, key: configSecretKey }
  }
}
