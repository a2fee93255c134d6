import type {
  Program,
  Resources,
  RuntimeStatus,
  WorkloadKey,
} from '../../../core/contracts/runtime.ts'
import type { StoreRecord, StoreTable } from '../../../core/contracts/store.ts'
import { decodeRecord } from '../../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'

/** Table with the objects of all namespaces. */
export const RUNTIME_TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'runtime' }

/** Key prefix of runtime objects (reference 7.3). */
export const OBJECTS_PREFIX = 'service:'

export interface DesiredState {
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Encrypted JSON of secret environment variables; empty if none. */
  readonly secrets: string
  /** Encrypted repository credentials; empty if none. */
  readonly credentials: string
  /** Container image. If empty, the build of the source is run. */
  readonly image: string
  readonly entrypoint: string
  /** Number of instances; 0 if defined by the project. */
  readonly instances: number
  /** Protocol; empty if defined by the project. */
  readonly protocol: '' | 'mx' | 'http'
  readonly port: number
  readonly memory: number
  readonly cpus: number
  readonly allowScripts: boolean
}

/** The last request. */
export interface Requested {
  /** Unique per request. */
  readonly id: string
  /**
   * `restart` uses the same build with the current settings. `rollback` uses the previous revision.
   */
  readonly kind: 'build' | 'restart' | 'rollback'
  /** Id of the request's upload; empty if none. */
  readonly upload: string
}

/** A runnable program with its settings. It is immutable. */
export interface Revision {
  /** Id of the revision's request. */
  readonly id: string
  /** Id of the revision's build; empty if none. */
  readonly build: string
  /** Commit of the repository; empty if none. */
  readonly commit: string
  readonly program: Program
  /** Variables merged from the project and the desired state. */
  readonly env: Readonly<Record<string, string>>
  /** See {@link DesiredState}. */
  readonly secrets: string
  readonly instances: number
  readonly resources: Resources
  readonly protocol: 'mx' | 'http'
  /** Port of a program with the `http` protocol; 0 if assigned. */
  readonly port: number
}

/** A stored runtime object (specification: Runtime object). */
export interface ServiceRecord extends WorkloadKey {
  readonly source: string
  /** Metadata set by the owner. */
  readonly metadata: Readonly<Record<string, string>>
  readonly type: string
  /** Account that created the object, and its namespace. */
  readonly owner: string
  readonly group: string
  /** Id of the server that runs the object. */
  readonly server: string
  readonly wish: DesiredState
  readonly asked: Requested
  /** Id of the last request that succeeded or failed. */
  readonly settled: string
  /** Serving revision, which is restarted until it runs. */
  readonly current?: Revision
  /** Revision before the current one. */
  readonly previous?: Revision
  readonly status: RuntimeStatus
  /** Phase of an update while the current revision is serving requests. */
  readonly update?: 'pending' | 'building' | 'starting'
  /** Error of the last request. */
  readonly failure?: string
  /** Error of the running revision. */
  readonly fault?: string
  /** Unix time in milliseconds; 0 if it has never run. */
  readonly startedMs: number
  /** Consecutive failures. */
  readonly retries: number
  /** Number of restarts of instances of the current revision, and the cause of the last one. */
  readonly restarts?: number
  readonly lastFailure?: string
  /** Time of the last status change, Unix time in milliseconds. */
  readonly changedMs: number
  /**
   * Encrypted secret of the object's account. If empty, it is created on each start of the server.
   */
  readonly secret: string
  readonly deleting: boolean
}

/** Returns the unique key of an object. Neither name nor version contains a colon. */
export function toObjectKey({ namespace, name, version }: WorkloadKey): string {
  return `${toNamespacePrefix(namespace)}${name}:${version}`
}

/** Parses a key from {@link toObjectKey}. */
export function parseObjectKey(key: string): { readonly name: string; readonly version: string } {
  const [name = '', version = ''] = key.split(':').slice(-2)
  return { name, version }
}

/** Returns the key prefix of the objects in a namespace. */
export function toNamespacePrefix(namespace: string): string {
  return `${OBJECTS_PREFIX}${namespace}:`
}

/** Returns whether the last request is in progress. */
export function isInProgress({ asked, settled }: ServiceRecord): boolean {
  return asked.id !== settled
}

/**
 * Returns whether the request requires a build. Restarts and rollbacks reuse builds, and images are
 * built elsewhere.
 */
export function needsBuild({ asked, wish }: Pick<ServiceRecord, 'asked' | 'wish'>): boolean {
  return asked.kind === 'build' && wish.image === ''
}

/**
 * Returns whether the object failed before it ever ran, so that another deployment may replace it.
 */
export function hasNeverStarted(record: ServiceRecord): boolean {
  return record.current === undefined && !record.deleting && !isInProgress(record)
}

export function formatObject({ name, version }: Pick<WorkloadKey, 'name' | 'version'>): string {
  return `${name}@${version}`
}

/** @throws {GatewayError} 500 */
export function parseServiceRecord(record: StoreRecord): ServiceRecord {
  return decodeRecord<ServiceRecord>(
    record,
    RUNTIME_TABLE.table,
    ({ name, server, asked, wish }) =>
      typeof name === 'string' &&
      typeof server === 'string' &&
      typeof asked === 'object' &&
      typeof wish === 'object',
  )
}
