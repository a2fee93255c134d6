import { createPrivateKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createSecretHasher } from '../../../core/auth/token/secret-hash.ts'
import type { Service as RegisteredService } from '../../../core/contracts/registry.ts'
import { createQuota } from '../../../core/limits/quota.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { openAuthService } from '../../../services/auth/service.ts'
import { createBrokerService } from '../../../services/broker/service.ts'
import { openSecretKey } from '../../../services/config/secrets/open-secret-key.ts'
import { createConfigService } from '../../../services/config/service.ts'
import { AUDIT_TOPIC, QUOTA_TOPIC } from '../../../services/events/reserved.ts'
import { createEventsService } from '../../../services/events/service.ts'
import { createApiService } from '../../../services/gateway/service.ts'
import { createNetworkService } from '../../../services/network/service.ts'
import { createRegistryService } from '../../../services/registry/service.ts'
import { createStoreService } from '../../../services/store/service.ts'
import type { Settings } from '../../settings/settings.ts'
import { forgetPassword, forgetStalePassword, openFirstAccounts } from '../bootstrap-accounts.ts'
import { openEvents, toEventsLimits } from '../open/events.ts'
import { openStore } from '../open/store.ts'
import type { ServerRegistries } from '../server-registries.ts'
import {
  type BuiltInContext,
  type BuiltInEntry,
  publishEvent,
  toCommonOptions,
} from './built-in.ts'
import { createRuntime } from './runtime.ts'

/** Hash cost in the `test` profile, whose secrets do not need expensive hashes. */
const TEST_COST = 4

/** Services of `mx server` in startup order. They are closed in reverse order. */
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
      created.store = createStoreService({ ...toCommonOptions('store', context), adapter })
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
      const options = { ...toCommonOptions('config', context), store }
      return createConfigService({ ...options, ...(secretKey && { secretKey }) })
    },
  },
  {
    name: 'auth',
    async create(context) {
      const { settings, created, ownFolder: folder, canShowPassword, onWarning } = context
      const { authPrivateKey, profile } = settings
      // Audit records are queued until the events service has started.
      let begin = (): void => {}
      const started = new Promise<void>((resolve) => {
        begin = resolve
      })
      const auth = await openAuthService({
        ...toCommonOptions('auth', context),
        store: created.store!.store,
        findService: (namespace, name) => findRegistered(context.registries, namespace, name),
        async audit(record) {
          await forgetPassword(record, folder)
          await started
          await publishEvent(AUDIT_TOPIC, record, created)
        },
        async onQuota(event) {
          await started
          await publishEvent(QUOTA_TOPIC, event, created)
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
      // Passwords are hashed while the other services start.
      const { accounts } = auth
      const first = { accounts, settings, folder, canShowPassword, onWarning }
      const ready = openFirstAccounts(first).then((password) => {
        created.adminPassword = password
      })
      const settled = ready.catch(() => {})
      let passwordRemoved = Promise.resolve()
      return {
        ...auth,
        ready,
        async begin() {
          begin()
          if (created.adminPassword !== undefined) return
          passwordRemoved = forgetStalePassword(accounts, folder).catch((error) =>
            onWarning(`cannot check the file with the initial password: ${error.message}`),
          )
        },
        async close() {
          await settled
          await passwordRemoved
          await auth.close()
        },
      }
    },
  },
  {
    name: 'broker',
    async create(context) {
      return createBrokerService({ ...toCommonOptions('broker', context), broker: context.broker })
    },
  },
  {
    name: 'events',
    async create(context) {
      const { settings, onWarning, toFolder, created } = context
      const adapter = await openEvents({ settings, folder: toFolder('events'), onWarning })
      created.events = createEventsService({
        ...toCommonOptions('events', context),
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
        ...toCommonOptions('network', context),
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
      return createApiService({ ...toCommonOptions('api', context), metrics, inFlight, gateway })
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
