import { RUNTIME_STATUS, type RuntimeStatus } from '../../core/contracts/runtime.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import type { Session } from '../session/session.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { LATEST, splitReference, toName } from './source.ts'

/** A runtime object, as the service `runtime` tells it (specification: Runtime object). */
export interface RuntimeObject {
  readonly name: string
  readonly version: string
  /** Address of a repository, or `source://<name>:<version>` of what was uploaded. */
  readonly source: string
  /** Number of its state (reference 7.2). */
  readonly status: number
  /** The keys of reference 7.2, and `update` as long as one is under way. */
  readonly metadata: Readonly<Record<string, string>>
}

/** The name of a state, `running` for one. */
export function toStatus({ status }: RuntimeObject): RuntimeStatus {
  const names = Object.keys(RUNTIME_STATUS) as RuntimeStatus[]
  return names.find((name) => RUNTIME_STATUS[name] === status) ?? 'unknown'
}

/** Whether it failed before it ever ran: then its name is free for what is run next. */
export function neverCameUp(object: RuntimeObject): boolean {
  const { started, build } = object.metadata
  return toStatus(object) === 'error' && started === undefined && build === undefined
}

/** All of the namespace, or those of a name, by name and version. */
export async function listObjects(
  { call, namespace }: Session,
  service = '',
): Promise<readonly RuntimeObject[]> {
  const request = { options: { service, namespace } }
  const { services } = await call<{ services: RuntimeObject[] }>('runtime', 'Runtime.Read', request)
  return services.sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version))
}

/**
 * What `<name or path>[@<ref>]` names: the path is one of the source it was run from.
 *
 * @throws {CliError} for an empty name.
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
 * The object that is meant.
 *
 * @param version empty: `latest`, or where that is not there the only one, of those that ever came up if there are several.
 * @throws {CliError} when there is none, or more than one.
 */
export async function findObject(
  session: Session,
  name: string,
  version: string,
): Promise<RuntimeObject> {
  const all = await listObjects(session)
  const named = all.filter((object) => object.name === name)
  const wanted = named.find((object) => object.version === (version || LATEST))
  if (wanted !== undefined) return wanted
  // What a misspelt branch left is hardly meant.
  const standing = named.length === 1 ? named : named.filter((object) => !neverCameUp(object))
  if (standing.length === 1 && version === '') return standing[0]!
  throw new CliError(explain(name, version, all, named))
}

function explain(
  name: string,
  version: string,
  all: readonly RuntimeObject[],
  named: readonly RuntimeObject[],
): string {
  if (named.length > 0) {
    const known = named.map((object) => `${name}@${object.version}`).join(', ')
    return version === ''
      ? `several versions of ${name} run: ${known}; say which`
      : `not found: ${name}@${version}, there is ${known}`
  }
  const names = all.map((object) => object.name)
  const meant = suggest(name, names)
  return `not found: ${name}${meant === undefined ? ". See 'mx status'" : `, did you mean ${meant}?`}`
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
