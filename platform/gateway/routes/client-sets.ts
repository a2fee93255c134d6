import { type CidrSet, createCidrSet } from '../../../lib/net/cidr-set.ts'
import type { ConfiguredRoute } from '../../config/types.ts'

/**
 * Returns the set of a list of networks, the same one for equal lists.
 *
 * @throws {RangeError} for a malformed network.
 */
export type ClientSets = (networks: readonly string[]) => CidrSet

/** Addresses cached by all sets: 20 MB at most. */
const MAX_CACHED = 100_000

export function createClientSets(routes: readonly Pick<ConfiguredRoute, 'match'>[]): ClientSets {
  const toText = (networks: readonly string[]): string => networks.toSorted().join()
  const distinct = new Set(routes.map(({ match }) => toText(match.clients)))
  const maxCached = Math.ceil(MAX_CACHED / Math.max(distinct.size, 10))
  const sets = new Map<string, CidrSet>()
  return (networks) => {
    const text = toText(networks)
    const known = sets.get(text)
    if (known !== undefined) return known
    const set = createCidrSet(networks, 'client', maxCached)
    sets.set(text, set)
    return set
  }
}
