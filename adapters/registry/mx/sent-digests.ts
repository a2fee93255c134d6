import { createHash } from 'node:crypto'
import type { Endpoint, Node, RegistryEvent, Service } from '../../../core/contracts/registry.ts'

/** What watchers have been told of every version, as a digest of some 30 characters: the registry may be large. */
export interface SentDigests {
  /** The event that tells of a state; undefined: it was told. */
  readonly learn: (service: Service) => RegistryEvent | undefined
  /** The event that tells of an end; undefined: it was told. */
  readonly forget: (service: Service) => RegistryEvent | undefined
  /** The events that tell of the end of all that {@link learn} was not called for since {@link begin}. */
  readonly finish: () => RegistryEvent[]
  /** A whole list follows. */
  readonly begin: () => void
}

interface Version {
  digest: string
  /** Of which list. */
  list: number
}

export function createSentDigests(): SentDigests {
  /** Name, then version. */
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
      const known = versions.get(version)
      if (known?.digest === digest) {
        known.list = list
        return undefined
      }
      services.set(name, versions.set(version, { digest, list }))
      return { type: known === undefined ? 'create' : 'update', service }
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
        for (const [version, known] of versions) {
          if (known.list === list) continue
          remove(name, version)
          const service = { name, version, metadata: {}, endpoints: [], nodes: [] }
          events.push({ type: 'delete', service })
        }
      }
      return events
    },
  }
}

/** The same for the same state, in whatever order the registry tells its parts. */
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
