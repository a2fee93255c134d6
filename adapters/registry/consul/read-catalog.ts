import type { Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/service-entry.ts'
import type { ReadOptions } from './read-health.ts'
import { scanCatalog } from './scan-catalog.ts'
import { findTagOddities } from './tag-oddities.ts'
import {
  DEFAULT_DOMAIN,
  DEFAULT_VERSION,
  parseTags,
  pickEndpoints,
  pickMetadata,
  type ReadTags,
  toPlainEndpoints,
  toPlainHandler,
} from './tags.ts'

/** Consul's servers list themselves; what they serve is not for others to call. */
export const CONSUL_ITSELF = 'consul'
const NOTHING =
  'Consul lists no service, not even itself: unless it has only just started, the token may see none, or is missing; it needs service:read and node:read'

export interface CatalogOptions extends ReadOptions {
  /** Told which domains the services say to be in, when that may have changed. */
  readonly onDomains?: (domains: ReadonlySet<string>) => void
  /** Told of a service whose tags, and so its nodes, are other ones than before. */
  readonly onChanged?: (name: string) => void
}

/** What the tags of a service said last. */
interface Known {
  readonly hash: string
  readonly revision: number
  readonly services: readonly Service[]
  readonly domains: ReadonlySet<string>
}

/**
 * Reads answers of `/v1/catalog/services`: the versions of all services, without nodes. What a service's tags said last time is
 * not read again while they are the same, in whatever order; the same list is given again when nothing changed.
 */
export function createCatalogReader({
  domain,
  warn,
  onDomains,
  onChanged = () => {},
}: CatalogOptions): (body: Buffer) => Promise<readonly Service[]> {
  let known = new Map<string, Known>()
  let listed: readonly Service[] = []

  function readService(name: string, tags: unknown): Omit<Known, 'hash' | 'revision'> {
    const tell = (reason: string): void => warn(`service ${name}: ${reason}`)
    const read = parseTags(tags, domain, tell)
    for (const oddity of findTagOddities(read)) tell(oddity)
    const services = listVersions(read, domain).flatMap((version) => {
      const only = read.versions.length <= 1
      const service: Service = {
        name,
        version,
        metadata: read.marked ? pickMetadata(read, version) : toPlainHandler(read, read.protocol),
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
    return { services, domains: read.domains }
  }

  /** @throws {SyntaxError} when the answer is no JSON object. */
  return async (body) => {
    // Another answer may be read between two turns of this one.
    const before = { known, listed }
    const read: typeof known = new Map()
    let changes = 0
    let isEmpty = true
    await scanCatalog(body, ({ name, hash, revision, readTags }) => {
      isEmpty = false
      if (name === CONSUL_ITSELF) return
      const old = before.known.get(name)
      if (old?.hash !== hash || old.revision !== revision) onChanged(name)
      if (old?.hash === hash) {
        read.set(name, old.revision === revision ? old : { ...old, revision })
        return
      }
      changes++
      const tags = readTags()
      // Consul collects them from all instances, in another order each time.
      const sorted = Array.isArray(tags) ? tags.sort() : tags
      read.set(name, { hash, revision, ...readService(name, sorted) })
    })
    // Consul before 1.11 does not tell what it hides from a token.
    if (isEmpty) warn(NOTHING)
    for (const name of before.known.keys()) if (!read.has(name)) onChanged(name)
    known = read
    if (changes === 0 && read.size === before.known.size) return before.listed
    listed = [...known.values()].flatMap(({ services }) => services)
    onDomains?.(new Set([...known.values()].flatMap(({ domains }) => [...domains])))
    return listed
  }
}

function listVersions({ marked, versions, domains }: ReadTags, domain: string): readonly string[] {
  if (marked && versions.length > 0) return versions
  const here = domains.size === 0 ? domain === DEFAULT_DOMAIN : domains.has(domain)
  // Registered by mx, its version is a tag: in this domain there is none.
  return here && !(marked && domains.size > 0) ? [DEFAULT_VERSION] : []
}
