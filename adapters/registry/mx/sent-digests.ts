import { createHash } from 'node:crypto'
import type { Endpoint, Node, RegistryEvent, Service } from '../../../core/contracts/registry.ts'

/**
 * Digest, about 30 characters long, of each version sent to watchers. Full states would use much
 * more memory.
 */
export interface SentDigests {
  /** Returns the event for a new state, or undefined if it was already sent. */
  readonly learn: (service: Service) => RegistryEvent | undefined
  /** Returns the delete event, or undefined if it was already sent. */
  readonly forget: (service: Service) => RegistryEvent | undefined
  /** Returns delete events for all versions not passed to {@link learn} since {@link begin}. */
  readonly finish: () => RegistryEvent[]
  /** Starts a full list. */
  readonly begin: () => void
}

interface Version {
  digest: string
  /** Number of the last list that contained the version. */
  list: number
}

export function createSentDigests(): SentDigests {
  /** Versions by name, then version. */
  const services = new Map<string, Map<string, Version>>()
  let list = 0

  function remove(name: string, version: string): void {
    const versions = services.get(name)!
    versions.delete(version)
    if (versions.size === 0) services.delete(name)
  }

  return {
    learn(service) {
      const { name, version } = service
      const digest = toDigest(service)
      const versions = services.get(name) ?? new Map<string, Version>()
      const seen = versions.get(version)
      if (seen?.digest === digest) {
        seen.list = list
        return undefined
      }
      services.set(name, versions.set(version, { digest, list }))
      return { type: seen === undefined ? 'create' : 'update', service }
    },

    forget(service) {
      const { name, version } = service
      if (services.get(name)?.has(version) !== true) return undefined
      remove(name, version)
      return { type: 'delete', service: { ...service, nodes: [] } }
    },

    begin() {
      list++
    },

    finish() {
      const events: RegistryEvent[] = []
      for (const [name, versions] of services) {
        for (const [version, seen] of versions) {
          if (seen.list === list) continue
          remove(name, version)
          const service = { name, version, metadata: {}, endpoints: [], nodes: [] }
          events.push({ type: 'delete', service })
        }
      }
      return events
    },
  }
}

/** Returns a digest that is independent of the order of endpoints, nodes and keys. */
function toDigest({ metadata, endpoints, nodes }: Service): string {
  const parts = [
    toPairs(metadata),
    sortBy(endpoints, ({ name }) => name).map(toParts),
    sortBy(nodes, ({ id }) => id).map((node: Node) => [
      node.id,
      node.address,
      toPairs(node.metadata),
    ]),
  ]
  return createHash('sha1').update(JSON.stringify(parts)).digest('base64')
}

function toParts({ name, request, response, metadata }: Endpoint): unknown[] {
  return [name, request, response, toPairs(metadata)]
}

function toPairs(map: Readonly<Record<string, string>>): [string, string][] {
  return sortBy(Object.entries(map), ([key]) => key)
}

function sortBy<T>(list: readonly T[], keyOf: (item: T) => string): T[] {
  return [...list].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}
