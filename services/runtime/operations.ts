import { randomUUID } from 'node:crypto'
import type { Runtime, WorkloadKey } from '../../core/contracts/runtime.ts'
import { isReservedName } from '../../core/registry/built-in-services.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import type { Account } from '../../sdk/context.ts'
import { badRequest, conflict, unavailable } from '../../sdk/errors.ts'
import type { ServiceAccounts } from './accounts.ts'
import { isUploaded, toUploadedSource } from './jobs/prepare.ts'
import type { RunOptions, ServiceMessage } from './messages.ts'
import { LATEST } from './names.ts'
import type { Admission } from './quotas.ts'
import type { Reconciler } from './reconciler.ts'
import type { Secrets } from './secrets.ts'
import { checkAddress, checkRef, isCommit } from './sources/references.ts'
import type { Uploads } from './sources/uploads.ts'
import { needsNoBuild, toDesiredState } from './state/desired-state.ts'
import type { Objects } from './state/objects.ts'
import {
  formatObject,
  hasNeverStarted,
  isInProgress,
  type Requested,
  type ServiceRecord,
  toObjectKey,
} from './state/records.ts'

/** Request from a caller. */
export interface Order {
  readonly namespace: string
  readonly service: ServiceMessage
  readonly options: RunOptions
  /** Account of the caller; undefined if anonymous. */
  readonly account: Account | undefined
  /** Id used in errors. */
  readonly errorId: string
}

/**
 * Operations on runtime objects (specification: States and transitions). Each operation records the
 * desired state and returns; the reconciler applies it.
 */
export interface Operations {
  /** @returns whether the object is new. With `force`, an existing object is updated. */
  readonly create: (order: Order) => Promise<{ readonly record: ServiceRecord; isNew: boolean }>
  readonly update: (order: Order, isRollback: boolean) => Promise<ServiceRecord>
  /** Resolves once all instances of the object have ended and its record is deleted. */
  readonly remove: (order: Order) => Promise<ServiceRecord>
}

export interface OperationsOptions {
  readonly objects: Objects
  readonly reconciler: Reconciler
  readonly uploads: Uploads
  readonly secrets: Secrets
  readonly accounts: Pick<ServiceAccounts, 'remove'>
  readonly admission: Admission
  readonly runtime: Runtime
  readonly server: string
  /** Returns whether this server manages an object. */
  readonly owns: (record: ServiceRecord) => boolean
  /** Returns whether repositories of a namespace may be local paths on this server. */
  readonly allowsLocal: (namespace: string) => boolean
  /** Timeout in milliseconds for a removal by another server. */
  readonly otherServerMs: number
  readonly nowMs: () => number
}

/** Timeout for a removal by this server. */
const LOCAL_REMOVAL_MS = 60_000
/** Variable with the service name that the runtime registers for an image. */
const SERVICE_NAME = 'MX_SERVICE_NAME'

export function createOperations(options: OperationsOptions): Operations {
  const {
    objects,
    reconciler,
    uploads,
    secrets,
    runtime,
    server,
    owns,
    allowsLocal,
    otherServerMs,
    nowMs,
    accounts,
    admission,
  } = options

  function checkImage(image: string, errorId: string): void {
    const runsImages = runtime.runs === 'image'
    if (image !== '' && !runsImages)
      throw badRequest(
        errorId,
        'request.options.image: not supported, because this server runs processes; set request.resource.service.source',
      )
    if (image === '' && runsImages)
      throw badRequest(errorId, 'request.options.image is missing; this server runs containers')
  }

  /** Checks the source and claims its upload. */
  function claimSource(key: WorkloadKey, source: string, errorId: string): string {
    if (source === '') throw badRequest(errorId, 'request.resource.service.source is missing')
    if (!isUploaded(source)) {
      checkRef(key.version)
      checkAddress(source, allowsLocal(key.namespace))
      return ''
    }
    const expected = toUploadedSource(key)
    if (source !== expected)
      throw badRequest(
        errorId,
        `request.resource.service.source must be ${expected}, as returned by the upload, or the address of a repository`,
      )
    const upload = uploads.claim(key)
    if (upload !== undefined) return upload
    if (uploads.wasClaimed(key))
      throw conflict(
        errorId,
        `another deployment of ${formatObject(key)} has used this upload; upload the source again`,
      )
    throw badRequest(
      errorId,
      `no source has been uploaded for ${formatObject(key)} to this server; upload it first`,
    )
  }

  /** A service named `auth` would receive the secrets of all accounts that log in. */
  function checkNames(name: string, { env, secrets }: RunOptions, errorId: string): void {
    const names = env.flatMap((line) =>
      line.startsWith(`${SERVICE_NAME}=`) ? [line.slice(SERVICE_NAME.length + 1)] : [],
    )
    const reserved = [name, ...names, secrets[SERVICE_NAME] ?? ''].find(isReservedName)
    if (reserved !== undefined)
      throw badRequest(
        errorId,
        `the name ${reserved} is reserved for a built-in service; choose another name`,
      )
  }

  /** Same check as in the registry: rules ignore letter case. */
  async function checkLetterCase(namespace: string, name: string, errorId: string): Promise<void> {
    const { records } = await objects.list(namespace)
    const lowerName = name.toLowerCase()
    const other = records.find(
      (record) => record.name !== name && record.name.toLowerCase() === lowerName,
    )
    if (other !== undefined)
      throw conflict(
        errorId,
        `the name ${name} differs from ${formatObject(other)} only in letter case; choose another name`,
      )
  }

  function toRequest(kind: Requested['kind'], upload = ''): Requested {
    return { id: randomUUID(), kind, upload }
  }

  async function create(order: Order): Promise<{ record: ServiceRecord; isNew: boolean }> {
    const { namespace, service, options, account, errorId } = order
    const { name, version: requested, source, metadata } = service
    if (name === '') throw badRequest(errorId, 'request.resource.service.name is missing')
    checkNames(name, options, errorId)
    await checkLetterCase(namespace, name, errorId)
    const key = { namespace, name, version: requested || LATEST }
    const existing = await objects.read(key)
    const hasFailed = existing !== undefined && hasNeverStarted(existing) && owns(existing)
    if (existing !== undefined && !hasFailed) {
      if (options.force && !existing.deleting) return { record: await update(order), isNew: false }
      throw existing.deleting ? beingDeletedError(key, errorId) : alreadyExistsError(key, errorId)
    }
    const wish = toDesiredState(key, options, secrets)
    checkImage(wish.image, errorId)
    const settle = admission.admit(key, wish.image === '', errorId)
    try {
      const upload = wish.image === '' ? claimSource(key, source, errorId) : ''
      const record: ServiceRecord = {
        ...key,
        ...{ source, metadata, wish, server, type: options.type },
        owner: account?.id ?? '',
        group: account?.issuer ?? '',
        asked: toRequest('build', upload),
        ...{
          settled: '',
          secret: '',
          status: 'pending',
          startedMs: 0,
          retries: 0,
          deleting: false,
        },
        changedMs: nowMs(),
      }
      const exists =
        existing === undefined ? !(await objects.add(record)) : !(await replace(existing, record))
      if (exists) throw alreadyExistsError(key, errorId)
      await reconciler.refresh()
      return { record, isNew: true }
    } finally {
      settle()
    }
  }

  /** Replaces a record that never ran. Returns false if there is a newer request. */
  async function replace(existing: ServiceRecord, record: ServiceRecord): Promise<boolean> {
    const change = (now: ServiceRecord): ServiceRecord =>
      hasNeverStarted(now) && now.asked.id === existing.asked.id
        ? { ...record, secret: now.secret }
        : now
    const now = await objects.change(existing, change, true)
    if (now?.asked.id !== record.asked.id) return false
    await uploads.remove(existing.asked.upload)
    return true
  }

  async function update(order: Order, isRollback = false): Promise<ServiceRecord> {
    const { namespace, service, options, errorId } = order
    const existing = await objects.find(namespace, service, errorId)
    const { name, version } = existing
    checkNames(name, options, errorId)
    const key = { namespace, name, version }
    const wish = toDesiredState(key, options, secrets, existing.wish, service.source !== '')
    if (isRollback && existing.previous === undefined)
      throw badRequest(errorId, `${formatObject(key)} has no previous revision to roll back to`)
    const isNewSource = service.source !== '' && service.source !== existing.source
    const isUpload = isUploaded(service.source)
    if (isUpload && !owns(existing))
      throw unavailable(
        errorId,
        `the service runs on server ${existing.server}; upload the source there`,
      )
    checkImage(wish.image, errorId)
    const source = service.source || existing.source
    const isFixed = isCommit(version) || isUploaded(source)
    const canRestart =
      isFixed && !isNewSource && !isUpload && needsNoBuild(existing.wish, wish) && !options.force
    const kind = isRollback
      ? 'rollback'
      : canRestart && existing.current !== undefined
        ? 'restart'
        : 'build'
    const settle = admission.admit(key, kind === 'build' && wish.image === '', errorId)
    try {
      const hasNewSource = wish.image === '' && (isNewSource || isUpload)
      const retained = existing.current === undefined && !isNewSource ? existing.asked.upload : ''
      const upload = hasNewSource ? claimSource(key, service.source, errorId) : retained
      const asked = toRequest(kind, isRollback ? '' : upload)
      const change = (now: ServiceRecord): ServiceRecord => {
        if (now.deleting) return now
        const { failure: _, fault: __, update: ___, ...rest } = now
        const serves = now.current !== undefined && now.status === 'running'
        // The previous deployment may have just become ready and deleted its upload.
        const isConsumed = upload === retained && now.current !== undefined
        return {
          ...{ ...rest, wish, source, type: options.type || now.type },
          asked: isConsumed ? { ...asked, upload: '' } : asked,
          metadata: { ...now.metadata, ...service.metadata },
          ...(serves ? { update: 'pending' } : { status: 'pending' }),
          changedMs: nowMs(),
        }
      }
      const record = await objects.change(key, change, true)
      if (record?.asked.id !== asked.id) throw beingDeletedError(key, errorId)
      if (existing.asked.upload !== upload && !isInProgress(existing))
        await uploads.remove(existing.asked.upload)
      await reconciler.refresh()
      return record
    } finally {
      settle()
    }
  }

  async function remove(order: Order): Promise<ServiceRecord> {
    const { namespace, service, options, errorId } = order
    const existing = await objects.find(namespace, service, errorId, 'all')
    const isLocal = owns(existing)
    const deleted = waitFor(toObjectKey(existing))
    try {
      const deleting = await objects.change(existing, (now) => ({
        ...now,
        ...{ deleting: true, status: 'stopping' },
      }))
      if (deleting === undefined) return existing
      await reconciler.refresh()
      if (await settlesWithin(deleted.done, isLocal ? LOCAL_REMOVAL_MS : otherServerMs))
        return existing
    } finally {
      deleted.stop()
    }
    if (isLocal) throw unavailable(errorId, `${formatObject(existing)} is still being deleted`)
    if (!options.force)
      throw unavailable(
        errorId,
        `server ${existing.server}, which runs the service, is unreachable; use force to delete its record`,
      )
    await accounts.remove(existing)
    await objects.change(existing, () => undefined)
    await reconciler.refresh()
    return existing
  }

  /** Waits for the deletion of a record. */
  function waitFor(key: string) {
    let stop = (): void => {}
    const deletion = new Promise<void>((resolve) => {
      stop = reconciler.watch((now, before) => {
        if (now === undefined && before !== undefined && toObjectKey(before) === key) resolve()
      })
    })
    return { done: deletion, stop }
  }

  return { create, update, remove }
}

function alreadyExistsError(key: WorkloadKey, errorId: string) {
  return conflict(errorId, `already exists: ${formatObject(key)}`)
}

function beingDeletedError(key: WorkloadKey, errorId: string) {
  return conflict(errorId, `${formatObject(key)} is being deleted`)
}
