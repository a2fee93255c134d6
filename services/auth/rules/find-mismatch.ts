import { EndpointRules, toComparableName } from '../../../core/auth/policy/endpoint-rules.ts'
import type { Resource } from '../../../core/contracts/auth.ts'
import type { Service } from '../../../core/contracts/registry.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

/** Looks up all versions of a service. Returns an empty list if it is not registered. */
export type FindService = (namespace: string, name: string) => Maybe<readonly Service[]>

const ANY = '*'
/** Maximum number of endpoints listed in a warning. */
const MAX_NAMES = 10

/**
 * Returns a warning if the endpoint of a rule or test does not match any endpoint of a registered
 * service.
 *
 * @param namespaces searched in order; the first namespace that contains the service is used.
 * @returns undefined if the endpoint may match.
 */
export async function findMismatch(
  find: FindService,
  namespaces: readonly string[],
  { type, name, endpoint }: Resource,
): Promise<string | undefined> {
  if (type !== 'service' || name === ANY || endpoint === ANY) return undefined
  let versions: readonly Service[] = []
  try {
    for (const namespace of namespaces)
      if (versions.length === 0) versions = await find(namespace, name)
  } catch (error) {
    return `the registry is unavailable, ${endpoint} was not checked: ${(error as Error).message}`
  }
  const names = new Set(versions.flatMap(({ endpoints }) => endpoints.map(({ name }) => name)))
  // If no endpoints are declared, the endpoint of a request is its path.
  if (names.size === 0) return undefined
  const resource = { type, name, endpoint }
  const rules = new EndpointRules([{ id: '', scope: '', access: 'GRANTED', priority: 0, resource }])
  if ([...names].some((each) => rules.evaluate(toComparableName(each)).granted)) return undefined
  const list = [...names].sort().slice(0, MAX_NAMES).join(', ')
  const more = names.size > MAX_NAMES ? ', …' : ''
  const hint = endpoint.startsWith('/')
    ? '; rules apply to the endpoint that the path resolves to'
    : ''
  return `${endpoint} matches no endpoint of ${name}, which has ${list}${more}${hint}`
}
