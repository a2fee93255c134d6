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
import { AUDIT_TOPIC } from '../../services/events/reserved.ts'
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

/** What built-in services are made from. */
export interface BuiltInContext {
  readonly settings: Settings
  /** Where files of a part lie. */
  readonly toFolder: (part: string) => string
  /** Whether there is a folder for files that outlive the server. */
  readonly hasFolder: boolean
  /** Where files of whoever runs the server lie; undefined: there are none. */
  readonly ownFolder: string | undefined
  /** Whether a random admin password is shown to a person. */
  readonly canShowPassword: boolean
  readonly registries: ServerRegistries
  readonly broker: CheckedBroker
  readonly network: Network
  /** Learns which services the runtime is to run. */
  readonly expected: Pick<ExpectedServices, 'add' | 'remove' | 'listKnown' | 'restore' | 'watch'>
  readonly gateway: GatewayPart
  readonly host: ServiceHost
  /** Decides who may call them from outside. */
  readonly gate: Authorizer
  /** Decides where they connect for others than operators. */
  readonly egress: EgressPolicy
  readonly toLog: (service: string) => ServiceLog
  readonly onWarning: (message: string) => void
  /** Those that were made before, for others to stand on. */
  readonly made: Made
}

/** The gateway, as far as a service tells of it. */
export type GatewayPart = Pick<ApiServiceOptions, 'metrics' | 'inFlight' | 'gateway'>

/** What others stand on, once it is made. */
export interface Made {
  store?: StoreService
  /** Encrypts what nobody may read in the store; undefined: nothing does. */
  secretKey?: SecretKey | undefined
  auth?: AuthService
  /** Undefined: none was made up. */
  adminPassword?: AdminPassword | undefined
  events?: EventsService
}

/** A built-in service, not started yet. */
export interface BuiltIn {
  readonly service: Service<object>
  /** Resolves once it has what callers need; the services after it are made and started meanwhile. @default it has */
  readonly ready?: Promise<void>
  /** Ends streams that would not end by themselves; other calls go on. */
  readonly endStreams: () => Maybe<void>
  /** Begins what takes calls of others, once all services have started. */
  readonly begin?: () => Promise<void>
  /** Ends what it runs, once no more requests come, and while the services that needs are there. */
  readonly end?: () => Promise<void>
  /** Ends its streams, stops it, and closes what it alone stands on. */
  readonly close: () => Promise<void>
}

export interface BuiltInEntry {
  readonly name: string
  /** @default always */
  readonly isWanted?: (settings: Settings) => boolean
  /** @throws {Error} with one line when what it stands on cannot be used. */
  readonly create: (context: BuiltInContext) => Promise<BuiltIn>
}

/** Secrets of tests are none: their hashes may be cheap. */
const TEST_COST = 4

/** The services of `mx server`, in the order they are made and started; the last one is closed first. */
export const BUILT_IN_SERVICES: readonly BuiltInEntry[] = [
  {
    name: 'registry',
    async create({ settings, registries, broker, host, gate, egress, toLog }) {
      const { create, list } = registries
      return createRegistryService({
        createRegistry: create,
        listDomains: list,
        host,
        gate,
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
        // Of a registry that servers share, each would tell the same changes.
        ...(settings.registry === 'memory' && { broker }),
      })
    },
  },
  {
    name: 'store',
    async create(context) {
      const { settings, onWarning, toFolder, made } = context
      const adapter = await openStore({ settings, folder: toFolder('store'), onWarning })
      made.store = createStoreService({ ...toOptions('store', context), adapter })
      return made.store
    },
  },
  {
    name: 'config',
    async create(context) {
      const { made } = context
      const { store } = made.store!
      const secretKey = await openSecretKey({ store, ...toKeyOptions(context) })
      made.secretKey = secretKey
      const options = { ...toOptions('config', context), store }
      return createConfigService({ ...options, ...(secretKey && { secretKey }) })
    },
  },
  {
    name: 'auth',
    async create(context) {
      const { settings, made, ownFolder: folder, canShowPassword, onWarning } = context
      const { authPrivateKey, profile } = settings
      // What is audited before events are there is kept then.
      let begin = (): void => {}
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const auth = await openAuthService({
        ...toOptions('auth', context),
        store: made.store!.store,
        findService: (namespace, name) => findRegistered(context.registries, namespace, name),
        async audit(record) {
          await forgetPassword(record, folder)
          await begun
          await keepEvent(AUDIT_TOPIC, record, made)
        },
        quotas: {
          accounts: createQuota('quota_accounts', settings.quotaAccounts),
          rules: createQuota('quota_rules', settings.quotaRules),
        },
        ...(made.secretKey && { sealer: made.secretKey }),
        ...(authPrivateKey !== '' && { privateKey: createPrivateKey(authPrivateKey) }),
        ...(profile === 'test' && { hasher: createSecretHasher('auth', TEST_COST) }),
      })
      made.auth = auth
      // Secrets are hashed while the rest starts.
      const { accounts } = auth
      const first = { accounts, settings, folder, canShowPassword, onWarning }
      const ready = openFirstAccounts(first).then((password) => {
        made.adminPassword = password
      })
      const settled = ready.catch(() => {})
      let forgotten = Promise.resolve()
      return {
        ...auth,
        ready,
        async begin() {
          begin()
          if (made.adminPassword !== undefined) return
          forgotten = forgetStalePassword(accounts, folder).catch((error) =>
            onWarning(`the file of the first password is not looked at: ${error.message}`),
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
      const { settings, onWarning, toFolder, made } = context
      const adapter = await openEvents({ settings, folder: toFolder('events'), onWarning })
      made.events = createEventsService({
        ...toOptions('events', context),
        adapter,
        events: toEventsLimits(settings),
      })
      return made.events
    },
  },
  {
    name: 'network',
    async create(context) {
      const { settings, network, host, egress, made } = context
      const { leave, ...rest } = createNetworkService({
        ...toOptions('network', context),
        network,
        networkName: settings.network,
        nodes: settings.networkNodes,
        token: settings.networkToken,
        isOpen: settings.profile === 'test',
        store: made.store!.store,
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
    isWanted: ({ runtime }) => runtime !== 'none',
    create: createRuntime,
  },
]

/** The services of a server. */
export function listBuiltIns(settings: Settings): readonly BuiltInEntry[] {
  return BUILT_IN_SERVICES.filter(({ isWanted }) => isWanted?.(settings) ?? true)
}

/** Makes no registry for a namespace that has no services. */
function findRegistered(
  { registry, create, list }: ServerRegistries,
  namespace: string,
  name: string,
): Maybe<readonly RegisteredService[]> {
  if (namespace === DEFAULT_NAMESPACE) return registry.getService(name)
  return list().has(namespace) ? create(namespace).getService(name) : []
}

async function createRuntime(context: BuiltInContext): Promise<BuiltIn> {
  const { settings, registries, network, host, made, toLog } = context
  const kept = context.hasFolder ? undefined : await openRuntimeFolder()
  const folder = kept?.path ?? context.toFolder('runtime')
  const log = toLog('runtime')
  const isProcess = settings.runtime === 'process'
  const hidden = context.ownFolder ?? folder
  const isolation = isProcess ? openIsolation({ settings, folder, hidden, log }) : undefined
  const { store } = made.store!
  const { expected } = context
  const known = createKnownServices({ store, key: `${network.id}:runtime`, source: expected, log })
  const { begin, close, ...rest } = createRuntimeService({
    ...{ ...toOptions('runtime', context), folder, log },
    store,
    runtime: await openRuntime({ settings, registries, folder, isolation, log }),
    namespaces: settings.runtimeNamespaces,
    ...(isolation !== undefined && { isolation }),
    accounts: made.auth!.accounts,
    ...(made.secretKey && { sealer: made.secretKey }),
    server: network.id,
    allowLocal: settings.profile === 'local',
    egress: context.egress,
    isAlone: isOfOneServer(settings),
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
    events: (event) => keepEvent({ namespace: DEFAULT_NAMESPACE, topic: 'runtime' }, event, made),
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
      await kept?.close()
    },
  }
}

/** What all services but the registry are told. */
function toOptions(name: string, { registries, host, gate, toLog }: BuiltInContext) {
  return { registry: registries.registry, host, gate, log: toLog(name) }
}

/** For programs to follow. */
async function keepEvent(
  topic: EventTopic,
  event: { readonly action: string },
  { events }: Made,
): Promise<void> {
  if (events === undefined) throw new Error('the service events is not there')
  await events.events.publish(topic, {
    payload: Buffer.from(JSON.stringify(event)),
    metadata: { action: event.action },
  })
}

/** Whether no other server has the same store. */
function isOfOneServer({ store }: Settings): boolean {
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
