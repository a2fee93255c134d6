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
  RUNTIME_TABLE,
  type ServiceRecord,
  toObjectKey,
} from './state/records.ts'
import { createServers } from './state/servers.ts'
import { createWatches } from './watches.ts'
import { toWorkload } from './workload.ts'

const DESCRIPTION = 'Runs services on this server'
const NO_QUOTAS: RuntimeQuotas = {
  programs: noQuota('quota_programs'),
  builds: noQuota('quota_builds'),
  uploads: noQuota('quota_uploads'),
}

export interface RuntimeServiceOptions extends Omit<ServiceOptions, 'name' | 'proxy'> {
  /**
   * Stores the objects in the `runtime` table of the `mx` database. It is not closed with the service.
   */
  readonly store: Store
  /** Runs the workloads. It is closed with the service. */
  readonly runtime: Runtime
  /** Manages the accounts of services. */
  readonly accounts: AccountManager
  /**
   * Encrypts stored secrets.
   *
   * @default none: secrets are rejected, and accounts get a new secret on each start
   */
  readonly sealer?: Sealer
  /** Stable id of this server. */
  readonly server: string
  /** Folder for sources and builds. */
  readonly folder: string
  /**
   * Lease duration in milliseconds. If the lease is not renewed for this time, another server takes
   * over the workloads of a cluster.
   *
   * @default 15000
   */
  readonly leaseMs?: number
  /** Whether no other server uses this store, so that all objects in it run here. */
  readonly isSingleServer: boolean
  /** Whether repositories of the default namespace may be local paths on this server. */
  readonly allowLocal: boolean
  /** Outgoing address policy for other repositories. */
  readonly egress: RepositoryPolicy
  /** Address of the RPC proxy that services connect to. */
  readonly reachedAt: string
  /** Called with each service before it starts and again when it is removed. @default no-op */
  readonly onExpected?: (service: ExpectedService, isExpected: boolean) => void
  /** Stores audit events. @default none */
  readonly events?: (event: RuntimeEvent) => Promise<void>
  /** Free disk space in bytes that uploads and builds must leave. @default 0, no limit */
  readonly minFreeDiskBytes?: number
  /** Maximum number of concurrent builds; one is reserved for other namespaces. @default 3 */
  readonly builds?: number
  /**
   * Namespaces whose administrators may run processes on this server, in addition to operators.
   *
   * @default all
   */
  readonly namespaces?: readonly string[]
  /** Isolation of programs. @default none; programs run as the user of the server */
  readonly isolation?: Promise<Isolation>
  /** Quotas of namespaces. @default no limits */
  readonly quotas?: RuntimeQuotas
  /** Interval between full reconciliations in milliseconds. @default 5000 */
  readonly everyMs?: number
  /** Timeout in milliseconds for a removal by another server. @default 10000 */
  readonly otherServerMs?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

/** A service requested by a record of the runtime. */
export interface ExpectedService extends WorkloadKey {
  readonly protocol: 'mx' | 'http'
}

/** The built-in `runtime` service. */
export interface RuntimeService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Starts reconciling. Must be called once services can register. */
  readonly begin: () => Promise<void>
  /** Ends watches and followed outputs, and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Stops workloads and work in progress. */
  readonly end: () => Promise<void>
  /** Calls {@link endStreams} and {@link end}, then stops the service. */
  readonly close: () => Promise<void>
}

/**
 * Creates the `runtime` service (specification: Runtime object, States and transitions; reference
 * 7).
 */
export function createRuntimeService(options: RuntimeServiceOptions): RuntimeService {
  const { store, runtime, accounts: accountManager, sealer, server, folder, ...more } = options
  const {
    isSingleServer,
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
  const checks = createAccountChecks(rest.authorizer)
  // Container isolation is the responsibility of the container runtime.
  const allowed = runtime.runs === 'process' ? namespaces : undefined
  const checkRun = createRunCheck({ checks, namespaces: allowed })
  const folders = createFolders(folder)
  /** Local paths belong to the operator of the server, so tenants may not use them. */
  const allowsLocal = (namespace: string): boolean => allowLocal && namespace === DEFAULT_NAMESPACE
  const objects = createObjects(store)
  const secrets = createSecrets(sealer)
  const accounts = createServiceAccounts(accountManager)
  const diskRoom = createDiskRoom({
    ...{ folder, minFreeBytes: minFreeDiskBytes },
    freeSpace: async () => {
      await pruneCaches(folders.cache)
      await pruneSandboxes()
    },
  })
  const { findSandbox, pruneSandboxes, removeBuild } = createSandboxes(folders, isolation)
  const uploads = createUploads({ folders, diskRoom, quota: quotas.uploads })
  const logIns = new Map<string, Promise<ServiceAccount>>()

  /** Returns the credentials of an object, which are cached as long as they can be stored. */
  function findAccount(record: ServiceRecord): Promise<ServiceAccount> {
    const key = toObjectKey(record)
    const existing = logIns.get(key)
    if (existing !== undefined) return existing
    const opening = openAccount(record)
    logIns.set(key, opening)
    opening.catch(() => logIns.delete(key))
    return opening
  }

  async function openAccount(record: ServiceRecord): Promise<ServiceAccount> {
    const secretPath = {
      namespace: record.namespace,
      key: toObjectKey(record),
      what: 'account',
    } as const
    const id = toAccountId(record)
    // Another server may have just written the secret.
    const { secret: sealed } = (await objects.read(record)) ?? record
    const isStored = sealed !== '' && secrets.canOpen(secretPath, sealed)
    if (isStored && (await accountManager.find(record.namespace, id)) !== undefined)
      return { id, secret: secrets.open(secretPath, sealed) }
    const account = await accounts.open(record)
    if (secrets.canStore) {
      const secret = secrets.seal(secretPath, account.secret)
      await objects.change(record, (now) => ({ ...now, secret }))
    }
    return account
  }

  async function buildWorkload(record: ServiceRecord, revision: Revision) {
    const secretPath = {
      namespace: record.namespace,
      key: toObjectKey(record),
      what: 'secrets',
    } as const
    const workload = toWorkload({
      ...{ record, revision, proxy: reachedAt },
      secrets: openVariables(secrets.open(secretPath, revision.secrets)),
      account: await findAccount(record),
    })
    return (await findSandbox(record.namespace)) === undefined
      ? workload
      : withFolders(workload, folders, revision.build)
  }

  /** Adopts the objects of a server with a different id. */
  async function adopt(): Promise<void> {
    for (const record of await readAll(store, RUNTIME_TABLE, OBJECTS_PREFIX)) {
      const key = parseServiceRecord(record)
      await objects.change(key, (now) => (now.server === server ? now : { ...now, server }))
    }
  }

  /** Migrates accounts, because earlier versions granted workload accounts the `service` scope. */
  async function migrateAccounts(): Promise<void> {
    for (const record of await readAll(store, RUNTIME_TABLE, OBJECTS_PREFIX)) {
      const [namespace = ''] = record.key.slice(OBJECTS_PREFIX.length).split(':')
      await accounts.migrate({ namespace, ...parseObjectKey(record.key) })
    }
  }

  /** Workloads of a cluster belong to the cluster rather than to one of its servers. */
  const owns = (record: ServiceRecord): boolean =>
    record.server === server || (runtime.scope === 'cluster' && record.wish.image !== '')
  const lease = createLease({
    ...{ store, holder: server, durationMs: leaseMs },
    onChange(isLeader) {
      if (!isLeader) return void reconciler.pause()
      // The previous leader may have rotated secrets.
      logIns.clear()
      reconciler.resume()
    },
  })
  const needsLease = runtime.scope === 'cluster' && !isSingleServer
  const reconciler = createReconciler({
    ...{ store, objects, runtime, owns, folders, log, builds, everyMs, nowMs },
    isActing: needsLease ? lease.isLeader : () => true,
    toWorkload: buildWorkload,
    prepare: createPrepare({
      ...{ folders, room: diskRoom, allowsLocal, egress, findSandbox, removeBuild },
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
  const publish = createPublishEvent({ log, nowMs, ...(events !== undefined && { store: events }) })
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
        onChange: publish,
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
      if (isSingleServer) await adopt()
      await migrateAccounts()
      await endLeftoverWork(folders.cache, (await isolation)?.sandbox)
      await servers.begin()
      if (needsLease) await lease.begin()
      await reconciler.begin()
      const uploadIds = [...reconciler.records.values()].map(({ asked }) => asked.upload)
      await uploads.clean(new Set(uploadIds))
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
