import type { Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import type { ConsulResponse } from './http/client.ts'
import type { ReadOptions } from './read-health.ts'
import { scanCatalog } from './scan-catalog.ts'
import { findTagWarnings } from './tag-warnings.ts'
import {
  DEFAULT_DOMAIN,
  DEFAULT_VERSION,
  isRevision,
  parseTags,
  pickEndpoints,
  pickMetadata,
  type ReadTags,
  toPlainEndpoints,
  toPlainMetadata,
} from './tags.ts'

/** Name of Consul's own service, which is not routable. */
export const CONSUL_SERVICE = 'consul'
const NO_SERVICES =
  'Consul lists no services, not even itself: unless it has just started, the token is missing or lacks service:read and node:read'

export interface CatalogOptions extends ReadOptions {
  /** Called with the domains of all services when they may have changed. */
  readonly onDomains?: (domains: ReadonlySet<string>) => void
  /** Called with a service whose tags, and therefore nodes, have changed. */
  readonly onChanged?: (name: string) => void
}

/** Parsed tags of a service. */
interface CachedService {
  readonly hash: string
  readonly revision: number
  readonly services: readonly Service[]
  readonly domains: ReadonlySet<string>
  /** Set if the catalog does not list the service yet. */
  readonly uncataloged?: Pick<ConsulResponse, 'index' | 'era'>
}

export interface CatalogReader {
  /** @throws {SyntaxError} if the response is not a JSON object. */
  readonly read: (
    response: Pick<ConsulResponse, 'chunks' | 'index' | 'era'>,
  ) => Promise<readonly Service[]>
  /** Returns whether the catalog lists the service or it was added. */
  readonly has: (name: string) => boolean
  /** Returns the listed or added versions of a service. */
  readonly find: (name: string) => readonly Service[]
  /**
   * Returns the list with the versions of a service that the catalog does not list yet, or
   * undefined if the catalog lists it. The versions are retained until the catalog lists them or is
   * newer.
   */
  readonly addUncataloged: (
    name: string,
    services: readonly Service[],
    response: Pick<ConsulResponse, 'index' | 'era'>,
  ) => readonly Service[] | undefined
}

/**
 * Reads responses of `/v1/catalog/services`, which contain the versions of all services without
 * nodes. Tags are parsed again only when they change, regardless of order. If nothing changed, the
 * same list is returned.
 */
export function createCatalogReader({
  domain,
  warn,
  onDomains,
  onChanged = () => {},
}: CatalogOptions): CatalogReader {
  let cache = new Map<string, CachedService>()
  let listed: readonly Service[] = []

  function readService(name: string, tags: unknown): Omit<CachedService, 'hash' | 'revision'> {
    const report = (reason: string): void => warn(`service ${name}: ${reason}`)
    const read = parseTags(tags, domain, report)
    for (const warning of findTagWarnings(read)) report(warning)
    const services = listVersions(read, domain).flatMap((version) => {
      const only = read.versions.length <= 1
      const service: Service = {
        name,
        version,
        metadata: read.marked ? pickMetadata(read, version) : toPlainMetadata(read, read.protocol),
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
        warn(`service ${JSON.stringify(name.slice(0, 80))} is ignored: ${(error as Error).message}`)
        return []
      }
    })
    return { services, domains: read.domains }
  }

  function list(): readonly Service[] {
    listed = [...cache.values()].flatMap(({ services }) => services)
    onDomains?.(new Set([...cache.values()].flatMap(({ domains }) => [...domains])))
    return listed
  }

  return {
    async read(response) {
      // Another response may be read while this function yields.
      const before = cache
      const read: typeof cache = new Map()
      let changes = 0
      let isEmpty = true
      await scanCatalog(response.chunks, ({ name, hash, revision, readTags }) => {
        isEmpty = false
        if (name === CONSUL_SERVICE) return
        const cached = before.get(name)
        if (cached?.hash !== hash || cached.revision !== revision) onChanged(name)
        if (cached?.hash === hash) {
          read.set(name, cached.revision === revision ? cached : { ...cached, revision })
          return
        }
        changes++
        const tags = readTags()
        // Consul merges the tags of all instances in random order.
        const sorted = Array.isArray(tags) ? tags.filter((tag) => !isRevision(tag)).sort() : tags
        read.set(name, { hash, revision, ...readService(name, sorted) })
      })
      // Consul versions before 1.11 do not report filtered results.
      if (isEmpty) warn(NO_SERVICES)
      for (const [name, cached] of before) {
        if (read.has(name)) continue
        if (cached.uncataloged !== undefined && isOlder(response, cached.uncataloged))
          read.set(name, cached)
        else onChanged(name)
      }
      const isSame = changes === 0 && read.size === before.size && cache === before
      cache = read
      return isSame ? listed : list()
    },

    has: (name) => cache.has(name),

    find: (name) => cache.get(name)?.services ?? [],

    addUncataloged(name, services, { index, era }) {
      if (cache.has(name) || name === CONSUL_SERVICE) return undefined
      cache.set(name, {
        hash: '',
        revision: 0,
        services: services.map((service) => ({ ...service, nodes: [] })),
        domains: new Set([domain]),
        uncataloged: { index, era },
      })
      return list()
    },
  }
}

/** Returns whether a catalog response is older than another response. */
function isOlder(
  response: Pick<ConsulResponse, 'index' | 'era'>,
  uncataloged: Pick<ConsulResponse, 'index' | 'era'>,
): boolean {
  return response.era === uncataloged.era && Number(response.index) < Number(uncataloged.index)
}

function listVersions({ marked, versions, domains }: ReadTags, domain: string): readonly string[] {
  if (marked && versions.length > 0) return versions
  const here = domains.size === 0 ? domain === DEFAULT_DOMAIN : domains.has(domain)
  // Services registered by mx have a version tag for each of their domains.
  return here && !(marked && domains.size > 0) ? [DEFAULT_VERSION] : []
}
