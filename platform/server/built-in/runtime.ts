import { createQuota } from '../../../core/limits/quota.ts'
import { RUNTIME_TOPIC } from '../../../services/events/reserved.ts'
import { createKnownServices } from '../../../services/network/known-services.ts'
import { createRuntimeService } from '../../../services/runtime/service.ts'
import type { Settings } from '../../settings/settings.ts'
import { describeHttpProgram } from '../instance-registrar.ts'
import { openIsolation } from '../open/isolation.ts'
import { openRuntime, openRuntimeFolder } from '../open/runtime.ts'
import { type BuiltIn, type BuiltInContext, publishEvent, toCommonOptions } from './built-in.ts'

/** Creates the `runtime` service. */
export async function createRuntime(context: BuiltInContext): Promise<BuiltIn> {
  const { settings, registries, network, host, created, toLog } = context
  const temporary = context.hasFolder ? undefined : await openRuntimeFolder()
  const folder = temporary?.path ?? context.toFolder('runtime')
  const log = toLog('runtime')
  const isProcess = settings.runtime === 'process'
  const hidden = context.ownFolder ?? folder
  const isolation = isProcess ? openIsolation({ settings, folder, hidden, log }) : undefined
  const { store } = created.store!
  const { expected } = context
  const knownServices = createKnownServices({
    store,
    key: `${network.id}:runtime`,
    source: expected,
    log,
  })
  const { begin, close, ...rest } = createRuntimeService({
    ...{ ...toCommonOptions('runtime', context), folder, log },
    store,
    runtime: await openRuntime({ settings, registries, folder, isolation, log }),
    namespaces: settings.runtimeNamespaces,
    ...(isolation !== undefined && { isolation }),
    accounts: created.auth!.accounts,
    ...(created.secretKey && { sealer: created.secretKey }),
    server: network.id,
    allowLocal: settings.profile === 'local',
    egress: context.egress,
    isSingleServer: isStorePrivate(settings),
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
      await knownServices.open()
    },
    async close() {
      await knownServices.close()
      await close()
      await temporary?.close()
    },
  }
}

/** Returns whether the store is not shared with other servers. */
function isStorePrivate({ store }: Settings): boolean {
  return store === 'lmdb' || store === 'memory'
}
