import type {
  Program,
  Resources,
  RuntimeStatus,
  WorkloadKey,
} from '../../../core/contracts/runtime.ts'
import type { StoreRecord, StoreTable } from '../../../core/contracts/store.ts'
import { decodeRecord } from '../../../domain/store/json-record.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'

/** Where everything is, of all namespaces. */
export const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'runtime' }

/** What keys of runtime objects begin with (reference 7.3). */
export const OBJECTS_PREFIX = 'service:'

/** How its owner wants it to run. */
export interface DesiredState {
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** JSON of more of the environment, sealed; empty: none. */
  readonly secrets: string
  /** Of the repository, sealed; empty: none. */
  readonly credentials: string
  /** Of a container; empty: it runs what was built of the source. */
  readonly image: string
  readonly entrypoint: string
  /** 0: as the project says. */
  readonly instances: number
  /** Empty: as the project says. */
  readonly protocol: '' | 'mx' | 'http'
  /** 0: as the project says. */
  readonly port: number
  /** 0: as the project says. */
  readonly memory: number
  /** 0: as the project says. */
  readonly cpus: number
  readonly allowScripts: boolean
}

/** What was asked for last. */
export interface Requested {
  /** Another one each time. */
  readonly id: string
  /** `restart`: what runs is run anew, as it is wished for now. `rollback`: what ran before. */
  readonly kind: 'build' | 'restart' | 'rollback'
  /** Id of what was uploaded for it; empty: nothing. */
  readonly upload: string
}

/** Something that can be run, and how: all that a change of the object leaves as it is. */
export interface Revision {
  /** That of what was asked for. */
  readonly id: string
  /** Of what was built; empty: nothing was. */
  readonly build: string
  /** Of the repository; empty: it is of none. */
  readonly commit: string
  readonly program: Program
  /** Of the project, and of the wish. */
  readonly env: Readonly<Record<string, string>>
  /** As of {@link DesiredState}. */
  readonly secrets: string
  readonly instances: number
  readonly resources: Resources
  readonly protocol: 'mx' | 'http'
  /** Where a program of protocol `http` listens; 0: where it is told. */
  readonly port: number
}

/** A runtime object as it is kept (specification: Runtime object). */
export interface ServiceRecord extends WorkloadKey {
  readonly source: string
  /** What its owner says of it. */
  readonly metadata: Readonly<Record<string, string>>
  readonly type: string
  /** `<id>` of the account that made it, and the namespace of that. */
  readonly owner: string
  readonly group: string
  /** Id of the server that runs it. */
  readonly server: string
  readonly wish: DesiredState
  readonly asked: Requested
  /** Id of what was asked for last that is over, well or not. */
  readonly settled: string
  /** What serves, or is started again until it does. */
  readonly current?: Revision
  /** What served before. */
  readonly previous?: Revision
  readonly status: RuntimeStatus
  /** How far an update is while something older serves. */
  readonly update?: 'pending' | 'building' | 'starting'
  /** Why what was asked for last did not come up. */
  readonly failure?: string
  /** What is wrong with what runs. */
  readonly fault?: string
  /** Unix time in milliseconds; 0: it was never running. */
  readonly startedMs: number
  /** Failures in a row. */
  readonly retries: number
  /** Times copies of what runs were started again, and how one of them ended last. */
  readonly restarts?: number
  readonly lastFailure?: string
  /** When the state changed last, Unix time in milliseconds. */
  readonly changedMs: number
  /** What its account logs in with, sealed; empty: it is made anew at each start of the server. */
  readonly secret: string
  /** It is on its way out. */
  readonly deleting: boolean
}

/** Key of the record of an object: of no two the same, for neither part has a colon. */
export function toObjectKey({ namespace, name, version }: WorkloadKey): string {
  return `${toNamespacePrefix(namespace)}${name}:${version}`
}

/** {@link toObjectKey} the other way. */
export function parseObjectKey(key: string): { readonly name: string; readonly version: string } {
  const [name = '', version = ''] = key.split(':').slice(-2)
  return { name, version }
}

/** What keys of the objects of a namespace begin with. */
export function toNamespacePrefix(namespace: string): string {
  return `${OBJECTS_PREFIX}${namespace}:`
}

/** Whether what was asked for last goes on. */
export function isUnderWay({ asked, settled }: ServiceRecord): boolean {
  return asked.id !== settled
}

/** Whether what was asked for is built: restarts and rollbacks run builds there are, and images are built elsewhere. */
export function needsBuild({ asked, wish }: Pick<ServiceRecord, 'asked' | 'wish'>): boolean {
  return asked.kind === 'build' && wish.image === ''
}

/** Whether it failed before it ever ran: whatever is run next may have its name. */
export function neverCameUp(record: ServiceRecord): boolean {
  return record.current === undefined && !record.deleting && !isUnderWay(record)
}

/** As people name it. */
export function formatObject({ name, version }: Pick<WorkloadKey, 'name' | 'version'>): string {
  return `${name}@${version}`
}

/** @throws {GatewayError} 500 */
export function parseServiceRecord(record: StoreRecord): ServiceRecord {
  return decodeRecord<ServiceRecord>(
    record,
    TABLE.table,
    ({ name, server, asked, wish }) =>
      typeof name === 'string' &&
      typeof server === 'string' &&
      typeof asked === 'object' &&
      typeof wish === 'object',
  )
}
