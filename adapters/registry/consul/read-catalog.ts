import type { Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/service-entry.ts'
import { isRecord } from './json.ts'
import type { ReadOptions } from './read-health.ts'
import {
  DEFAULT_DOMAIN,
  DEFAULT_VERSION,
  parseTags,
  pickEndpoints,
  pickMetadata,
  type ReadTags,
  toPlainEndpoints,
} from './tags.ts'

/** Consul's servers list themselves; what they serve is not for others to call. */
export const CONSUL_ITSELF = 'consul'

/**
 * Reads answers of `/v1/catalog/services`: the versions of all services, without nodes. What a service's tags said last time is
 * not read again while they are the same.
 */
export function createCatalogReader({ domain, warn }: ReadOptions): (body: Buffer) => Service[] {
  let known = new Map<string, { readonly tags: string; readonly services: readonly Service[] }>()

  function readService(name: string, tags: unknown): Service[] {
    const read = parseTags(tags, domain, (reason) => warn(`service ${name}: ${reason}`))
    return listVersions(read, domain).flatMap((version) => {
      const only = read.versions.length <= 1
      const service: Service = {
        name,
        version,
        metadata: read.marked ? pickMetadata(read, version) : {},
        endpoints: [
          ...(read.marked ? pickEndpoints(read, version, only) : []),
          ...(version === DEFAULT_VERSION ? toPlainEndpoints(read) : []),
        ],
        nodes: [],
      }
      try {
        checkService(service)
        return service
      } catch (error) {
        warn(
          `service ${JSON.stringify(name.slice(0, 80))} is left out: ${(error as Error).message}`,
        )
        return []
      }
    })
  }

  /** @throws {SyntaxError} when the answer is no JSON object. */
  return (body) => {
    const catalog: unknown = JSON.parse(body.toString())
    if (!isRecord(catalog)) throw new SyntaxError('Consul answers no catalog')
    const before = known
    known = new Map()
    for (const [name, list] of Object.entries(catalog)) {
      if (name === CONSUL_ITSELF) continue
      // Consul collects them from all instances, in another order each time.
      const sorted = Array.isArray(list) ? list.sort() : list
      const tags = JSON.stringify(sorted)
      const old = before.get(name)
      const entry = old?.tags === tags ? old : { tags, services: readService(name, sorted) }
      known.set(name, entry)
    }
    return [...known.values()].flatMap(({ services }) => services)
  }
}

function listVersions({ marked, versions, domains }: ReadTags, domain: string): readonly string[] {
  if (versions.length > 0) return versions
  const here = domains.size === 0 ? domain === DEFAULT_DOMAIN : domains.has(domain)
  // Registered by mx, its version is a tag: in this domain there is none.
  return here && !(marked && domains.size > 0) ? [DEFAULT_VERSION] : []
}
