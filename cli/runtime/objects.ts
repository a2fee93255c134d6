import { RUNTIME_STATUS, type RuntimeStatus } from '../../core/contracts/runtime.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import type { Session } from '../session/session.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { LATEST, splitReference, toName } from './source.ts'

/** An object of the `runtime` service (specification: Runtime object). */
export interface RuntimeObject {
  readonly name: string
  readonly version: string
  /** Repository address, or `source://<name>:<version>` for an upload. */
  readonly source: string
  /** State code (reference 7.2). */
  readonly status: number
  /** Metadata with the keys from reference 7.2, and `update` during an update. */
  readonly metadata: Readonly<Record<string, string>>
}

/** Name of the state, such as `running`. */
export function toStatus({ status }: RuntimeObject): RuntimeStatus {
  const names = Object.keys(RUNTIME_STATUS) as RuntimeStatus[]
  return names.find((name) => RUNTIME_STATUS[name] === status) ?? 'unknown'
}

/** True if the object failed before its first start, so that its name is free. */
export function neverStarted(object: RuntimeObject): boolean {
  const { started, build } = object.metadata
  return toStatus(object) === 'error' && started === undefined && build === undefined
}

/** Lists the objects of the namespace, or the versions of one object, ordered by name and version. */
export async function listObjects(
  { call, namespace }: Session,
  service = '',
): Promise<readonly RuntimeObject[]> {
  const request = { options: { service, namespace } }
  const { services } = await call<{ services: RuntimeObject[] }>('runtime', 'Runtime.Read', request)
  return services.sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
}

/**
 * Parses `<name or path>[@<ref>]`; for a path, the name is the folder name.
 *
 * @throws {CliError} for an empty name
 */
export function parseObject(text: string): { readonly name: string; readonly version: string } {
  const { stem, ref = '' } = splitReference(text)
  const name = toName(stem === '.' ? process.cwd() : stem)
  if (name === '')
    throw new CliError(`the name is empty, got ${JSON.stringify(text)}. See 'mx status'`, {
      status: EXIT.usage,
    })
  return { name, version: ref }
}

/**
 * Finds an object.
 *
 * @param version version; if empty, `latest`, else the only version, else the only version that ever started
 * @throws {CliError} unless exactly one object matches
 */
export async function findObject(
  session: Session,
  name: string,
  version: string,
): Promise<RuntimeObject> {
  const all = await listObjects(session)
  const matches = all.filter((object) => object.name === name)
  const match = matches.find((object) => object.version === (version || LATEST))
  if (match !== undefined) return match
  // Ignores objects that never started, such as a misspelled branch.
  const started = matches.length === 1 ? matches : matches.filter((object) => !neverStarted(object))
  if (started.length === 1 && version === '') return started[0]!
  throw new CliError(explain(name, version, all, matches))
}

function explain(
  name: string,
  version: string,
  all: readonly RuntimeObject[],
  matches: readonly RuntimeObject[],
): string {
  if (matches.length > 0) {
    const versions = matches.map((object) => `${name}@${object.version}`).join(', ')
    return version === ''
      ? `several versions of ${name} exist: choose ${versions}`
      : `not found: ${name}@${version}, available: ${versions}`
  }
  const names = all.map((object) => object.name)
  const similar = suggest(name, names)
  return `not found: ${name}${similar === undefined ? ". See 'mx status'" : `, did you mean ${similar}?`}`
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
