import { RUNTIME_STATUS, type RuntimeStatus } from '../../core/contracts/runtime.ts'

/** A runtime object as the service `runtime` tells it (reference 7.1, 7.2). */
export interface RuntimeObject {
  readonly name: string
  readonly version: string
  readonly source: string
  /** Number of its state. */
  readonly status: number
  readonly metadata: Readonly<Record<string, string>>
}

const COMMIT = /^[0-9a-f]{7,40}$/
const LATEST = 'latest'
const UPLOADED = 'source://'
const BUILDING: ReadonlySet<string> = new Set(['pending', 'building'])
/** States in which nothing more of it is to be done. */
const LEAVING: ReadonlySet<RuntimeStatus> = new Set(['stopping', 'stopped'])

/** The name of a state, `running` for one. */
export function toStatus({ status }: Pick<RuntimeObject, 'status'>): RuntimeStatus {
  const names = Object.keys(RUNTIME_STATUS) as RuntimeStatus[]
  return names.find((name) => RUNTIME_STATUS[name] === status) ?? 'unknown'
}

/** What a page says of it: an update under way, and whether the last one failed. */
export function toPhase(object: RuntimeObject): { readonly text: string; readonly isBad: boolean } {
  const status = toStatus(object)
  const { update, error } = object.metadata
  if (update) return { text: `${status}, update ${update}`, isBad: false }
  const hasFailed = status === 'running' && Boolean(error)
  if (hasFailed) return { text: 'running, update failed', isBad: true }
  return { text: status, isBad: status === 'error' || status === 'unknown' }
}

/** What `Runtime.Update` does with it when nothing else is said: of a branch the newest commit, of anything else what is there. */
export function toUpdateKind({ source, version }: RuntimeObject): 'fetch' | 'restart' {
  return source.startsWith(UPLOADED) || COMMIT.test(version) ? 'restart' : 'fetch'
}

/** Whether a build of it is under way, or waits for its turn. */
export function isBuilding(object: RuntimeObject): boolean {
  return BUILDING.has(object.metadata['update'] || toStatus(object))
}

export function isLeaving(object: RuntimeObject): boolean {
  return LEAVING.has(toStatus(object))
}

/** The one of a name that is meant: without a version `latest`, or the only one there is. */
export function findTarget(
  objects: readonly RuntimeObject[],
  version: string,
): RuntimeObject | undefined {
  const wanted = objects.find((object) => object.version === (version || LATEST))
  return wanted ?? (version === '' && objects.length === 1 ? objects[0] : undefined)
}

/** Where its page is. */
export function toObjectPath({ name, version }: RuntimeObject): string {
  return `/runtime/${encodeURIComponent(name)}?version=${encodeURIComponent(version)}`
}

/** By name and version. */
export function compareObjects(a: RuntimeObject, b: RuntimeObject): number {
  return compare(a.name, b.name) || compare(a.version, b.version)
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
