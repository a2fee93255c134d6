import type { Runtime, WorkloadKey } from '../../core/contracts/runtime.ts'
import { noQuota } from '../../core/limits/quota.ts'
import { readAll } from '../../domain/store/read-all.ts'
import type { Store } from '../../domain/store/store.ts'
import type { Isolation } from '../../lib/process/sandbox/sandbox.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createRunCheck } from './access.ts'
import {
  type AccountManager,
  createServiceAccounts,
  type ServiceAccount,
  toAccountId,
} from './accounts.ts'
import { pruneCaches } from './builds/cache.ts'
import { createRuntimeEndpoints } from './endpoints.ts'
import { createDiskRoom } from './jobs/disk-room.ts'
import { createFolders } from './jobs/folders.ts'
import { createPrepare } from './jobs/prepare.ts'
import { createSandboxes, withFolders } from './jobs/sandboxes.ts'
import { endLeftoverWork } from './jobs/work-home.ts'
import { createOperations } from './operations.ts'
import { createPublishEvent, type RuntimeEvent } from './publish-event.ts'
import { createAdmission, type RuntimeQuotas } from './quotas.ts'
import { createReconciler } from './reconciler.ts'
import { createSecrets, type Sealer } from './secrets.ts'
import { createBuildEndpoints, createSourceEndpoints } from './source-endpoints.ts'
import type { RepositoryPolicy } from './sources/pin-host.ts'
import { createUploads } from './sources/uploads.ts'
import { openVariables } from './state/desired-state.ts'
import { createLease } from './state/lease.ts'
import { createObjects } from './state/objects.ts'
import {
  OBJECTS_PREFIX,
  parseObjectKey,
  parseServiceRecord,
  type Revision,
  type ServiceRecord,
  TABLE,
  toObjectKey,
} from './state/records.ts'
import { createServers } from './state/servers.ts'
import { createWatches } from './watches.ts'
import { toWorkload } from './workload.ts'

const DESCRIPTION = 'Services this server runs'
const NO_QUOTAS: RuntimeQuotas = {
  programs: noQuota('quota_programs'),
  builds: noQuota('quota_builds'),
  uploads: noQuota('quota_uploads'),
}

/** What the runtime service is told. */
export interface RuntimeServiceOptions extends Omit<ServiceOptions, 'name' | 'proxy'> {
  /** Keeps what is to run, in the table `runtime` of the database `mx`. Not closed with the service. */
  readonly store: Store
  /** Runs it; closed with the service. */
  readonly runtime: Runtime
  /** Holds the accounts services run as. */
  readonly accounts: AccountManager
  /** Encrypts secrets where they are kept. @default none are taken, and accounts get a new one at each start */
  readonly sealer?: Sealer
  /** Id of this server, the same whenever it is started. */
  readonly server: string
  /** Where sources and builds lie. */
  readonly folder: string
  /** Milliseconds a server without a sign of life keeps other servers from acting on what runs in a cluster. @default 15000 */
  readonly leaseMs?: number
  /** Whether no other server has this store: whatever is in it is to run here. */
  readonly isAlone: boolean
  /** Whether repositories of the default namespace may be files of this machine. */
  readonly allowLocal: boolean
  /** Decides where other repositories may be. */
  readonly egress: RepositoryPolicy
  /** Where services reach the platform: its RPC proxy. */
  readonly reachedAt: string
  /** Called with every service that is to run, before it does, and again once it is to run no more. @default no-op */
  readonly onExpected?: (service: ExpectedService, isExpected: boolean) => void
  /** Keeps what was done. @default nothing does */
  readonly events?: (event: RuntimeEvent) => Promise<void>
  /** Bytes of the disk that uploads and builds leave free. @default 0, they may fill it */
  readonly minFreeDiskBytes?: number
  /** Builds at a time; a namespace leaves one to others. @default 3 */
  readonly builds?: number
  /** Namespaces whose administrators may run programs of this machine, besides operators. @default all of them */
  readonly namespaces?: readonly string[]
  /** Whether programs are isolated. @default they run as the user of the server */
  readonly isolation?: Promise<Isolation>
  /** What namespaces may have. @default no limits */
  readonly quotas?: RuntimeQuotas
  /** Milliseconds between two looks at everything. @default 5000 */
  readonly everyMs?: number
  /** How long another server may take to remove something, milliseconds. @default 10000 */
  readonly otherServerMs?: number
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

/** A service that a record of the runtime asks for. */
export interface ExpectedService extends WorkloadKey {
  readonly protocol: 'mx' | 'http'
}

/** The runtime of a platform, as a service of it. */
export interface RuntimeService {
  /** Not started yet. */
  readonly service: Service<object>
  /** Runs what is to run: to be called once services can register. */
  readonly begin: () => Promise<void>
  /** Ends the streams of those who watch or follow an output, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends what runs here, and what is on its way. */
  readonly end: () => Promise<void>
  /** {@link endStreams}, {@link end}, then stops the service. */
  readonly close: () => Promise<void>
}

/** The service `runtime` (specification: Runtime object, States and transitions; reference 7). */
export function createRuntimeService(options: RuntimeServiceOptions): RuntimeService {
  const { store, runtime, accounts: keeper, sealer, server, folder, ...more } = options
  const {
    isAlone,
    allowLocal,
    egress,
    reachedAt,
    onExpected,
    events,
    minFreeDiskBytes = 0,
    builds = 3,
    isolation,
    namespaces,
    quotas = NO_QUOTAS,
    everyMs = 5000,
    otherServerMs = 10_000,
    leaseMs = 15_000,
    nowMs = Date.now,
    ...rest
  } = more
  const service = new Service({ metadata: { description: DESCRIPTION }, ...rest, name: 'runtime' })
  const { log } = service
  const checks = createAccountChecks(rest.gate)
  // Images are isolated by what runs them.
  const allowed = runtime.runs === 'process' ? namespaces : undefined
  const checkRun = createRunCheck({ checks, namespaces: allowed })
  const folders = createFolders(folder)
  /** Files of the machine are those of whoever runs the server: no tenant's. */
  const allowsLocal = (namespace: string): boolean => allowLocal && namespace === DEFAULT_NAMESPACE
  const objects = createObjects(store)
  const secrets = createSecrets(sealer)
  const accounts = createServiceAccounts(keeper)
  const room = createDiskRoom({
    ...{ folder, leastBytes: minFreeDiskBytes },
    makeRoom: async () => {
      await pruneCaches(folders.cache)
      await pruneSandboxes()
    },
  })
  const { findSandbox, pruneSandboxes, removeBuild } = createSandboxes(folders, isolation)
  const uploads = createUploads({ folders, room, quota: quotas.uploads })
  const logIns = new Map<string, Promise<ServiceAccount>>()

  /** What an object logs in with: the same as long as it can be kept. */
  function findAccount(record: ServiceRecord): Promise<ServiceAccount> {
    const key = toObjectKey(record)
    const known = logIns.get(key)
    if (known !== undefined) return known
    const opening = openAccount(record)
    logIns.set(key, opening)
    opening.catch(() => logIns.delete(key))
    return opening
  }

  async function openAccount(record: ServiceRecord): Promise<ServiceAccount> {
    const place = {
      namespace: record.namespace,
      key: toObjectKey(record),
      what: 'account',
    } as const
    const id = toAccountId(record)
    // Another server may have just written it.
    const { secret: sealed } = (await objects.read(record)) ?? record
    const isKept = sealed !== '' && secrets.canOpen(place, sealed)
    if (isKept && (await keeper.find(record.namespace, id)) !== undefined)
      return { id, secret: secrets.open(place, sealed) }
    const account = await accounts.open(record)
    if (secrets.canKeep) {
      const secret = secrets.seal(place, account.secret)
      await objects.change(record, (now) => ({ ...now, secret }))
    }
    return account
  }

  async function buildWorkload(record: ServiceRecord, revision: Revision) {
    const place = {
      namespace: record.namespace,
      key: toObjectKey(record),
      what: 'secrets',
    } as const
    const workload = toWorkload({
      ...{ record, revision, proxy: reachedAt },
      secrets: openVariables(secrets.open(place, revision.secrets)),
      account: await findAccount(record),
    })
    return (await findSandbox(record.namespace)) === undefined
      ? workload
      : withFolders(workload, folders, revision.build)
  }

  /** Takes over what a server had that was called otherwise. */
  async function adopt(): Promise<void> {
    for (const record of await readAll(store, TABLE, OBJECTS_PREFIX)) {
      const key = parseServiceRecord(record)
      await objects.change(key, (now) => (now.server === server ? now : { ...now, server }))
    }
  }

  /** Earlier versions gave the accounts of workloads the scope `service`. */
  async function migrateAccounts(): Promise<void> {
    for (const record of await readAll(store, TABLE, OBJECTS_PREFIX)) {
      const [namespace = ''] = record.key.slice(OBJECTS_PREFIX.length).split(':')
      await accounts.migrate({ namespace, ...parseObjectKey(record.key) })
    }
  }

  /** What is in a cluster belongs to it, and to none of the servers that use it. */
  const owns = (record: ServiceRecord): boolean =>
    record.server === server || (runtime.scope === 'cluster' && record.wish.image !== '')
  const lease = createLease({
    ...{ store, holder: server, durationMs: leaseMs },
    onChange(isHeld) {
      if (!isHeld) return void reconciler.pause()
      // The server that acted before may have given accounts other secrets.
      logIns.clear()
      reconciler.resume()
    },
  })
  const needsLease = runtime.scope === 'cluster' && !isAlone
  const reconciler = createReconciler({
    ...{ store, objects, runtime, owns, folders, log, builds, everyMs, nowMs },
    isActing: needsLease ? lease.isHeld : () => true,
    toWorkload: buildWorkload,
    prepare: createPrepare({
      ...{ folders, room, allowsLocal, egress, findSandbox, removeBuild },
      openSecret: secrets.open,
    }),
    removeBuild,
    async cleanUp(record) {
      logIns.delete(toObjectKey(record))
      await accounts.remove(record)
      await uploads.forget(record)
      await uploads.remove(record.asked.upload)
      await removeBuild(folders.builds(record))
    },
  })
  if (onExpected !== undefined)
    reconciler.watch((now, before) => {
      if (now !== undefined && !now.deleting) onExpected(toExpected(now), true)
      else if (before !== undefined) onExpected(toExpected(before), false)
    })
  const servers = createServers({ store, server, nowMs })
  const watches = createWatches({ reconciler, servers, owns, nowMs })
  const operations = createOperations({
    ...{
      objects,
      reconciler,
      uploads,
      secrets,
      accounts,
      runtime,
      server,
      owns,
      allowsLocal,
      nowMs,
    },
    otherServerMs,
    admission: createAdmission(quotas, reconciler.records),
  })
  const tell = createPublishEvent({ log, nowMs, ...(events !== undefined && { keep: events }) })
  const ending = new AbortController()
  const ofSources = {
    ...{ objects, uploads, reconciler, folders, owns, checks, checkRun },
    ending: ending.signal,
  }
  service
    .handle(
      'Runtime',
      createRuntimeEndpoints({
        ...{ operations, objects, watches, runtime, servers, nowMs, owns, checks, checkRun },
        tell,
        ending: ending.signal,
      }),
    )
    .handle('Source', createSourceEndpoints(ofSources))
    .handle('Build', createBuildEndpoints(ofSources))

  function endStreams(): void {
    ending.abort()
    watches.close()
  }

  async function end(): Promise<void> {
    servers.close()
    await reconciler.close()
    await lease.close()
  }

  return {
    service,
    endStreams,
    end,

    async begin() {
      if (isAlone) await adopt()
      await migrateAccounts()
      await endLeftoverWork(folders.cache, (await isolation)?.sandbox)
      await servers.begin()
      if (needsLease) await lease.begin()
      await reconciler.begin()
      const asked = [...reconciler.records.values()].map(({ asked }) => asked.upload)
      await uploads.clean(new Set(asked))
    },

    async close() {
      endStreams()
      await end()
      await service.stop()
    },
  }
}

function toExpected({ namespace, name, version, current, wish }: ServiceRecord): ExpectedService {
  return { namespace, name, version, protocol: current?.protocol ?? (wish.protocol || 'mx') }
}
