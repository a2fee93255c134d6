import { RUNTIME_STATUS, type RuntimeStatus } from '../../core/contracts/runtime.ts'

/** An object of the service `runtime` (reference 7.1, 7.2). */
export interface RuntimeObject {
  readonly name: string
  readonly version: string
  readonly source: string
  /** State code, see {@link RUNTIME_STATUS}. */
  readonly status: number
  readonly metadata: Readonly<Record<string, string>>
}

const COMMIT = /^[0-9a-f]{7,40}$/
const LATEST = 'latest'
const UPLOADED = 'source://'
const BUILDING: ReadonlySet<string> = new Set(['pending', 'building'])
const STOPPING: ReadonlySet<RuntimeStatus> = new Set(['stopping', 'stopped'])

/** Name of the status, such as `running`. */
export function toStatus({ status }: Pick<RuntimeObject, 'status'>): RuntimeStatus {
  const names = Object.keys(RUNTIME_STATUS) as RuntimeStatus[]
  return names.find((name) => RUNTIME_STATUS[name] === status) ?? 'unknown'
}

/** Status text, including an update in progress or a failed one. */
export function toPhase(object: RuntimeObject): { readonly text: string; readonly isBad: boolean } {
  const status = toStatus(object)
  const { update, error } = object.metadata
  if (update) return { text: `${status}, update ${update}`, isBad: false }
  const hasFailed = status === 'running' && Boolean(error)
  if (hasFailed) return { text: 'running, update failed', isBad: true }
  return { text: status, isBad: status === 'error' || status === 'unknown' }
}

/**
 * Default action of `Runtime.Update`: fetches the latest commit of a branch, but restarts uploaded code and pinned
 * commits.
 */
export function toUpdateKind({ source, version }: RuntimeObject): 'fetch' | 'restart' {
  return source.startsWith(UPLOADED) || COMMIT.test(version) ? 'restart' : 'fetch'
}

/** True if a build is queued or in progress. */
export function isBuilding(object: RuntimeObject): boolean {
  return BUILDING.has(object.metadata['update'] || toStatus(object))
}

export function isStopping(object: RuntimeObject): boolean {
  return STOPPING.has(toStatus(object))
}

/** Selects the object with a version. Without a version, selects `latest`, else the only object. */
export function findTarget(
  objects: readonly RuntimeObject[],
  version: string,
): RuntimeObject | undefined {
  const target = objects.find((object) => object.version === (version || LATEST))
  return target ?? (version === '' && objects.length === 1 ? objects[0] : undefined)
}

/** Path of the object's page. */
export function toObjectPath({ name, version }: RuntimeObject): string {
  return `/runtime/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`
}

/** Compares objects by name and version. */
export function compareObjects(a: RuntimeObject, b: RuntimeObject): number {
  return compare(a.name, b.name) || compare(a.version, b.version)
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
