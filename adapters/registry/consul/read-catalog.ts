import type { Service } from '../../../core/contracts/registry.ts'
import { checkService } from '../../../core/registry/service.ts'
import type { Answer } from './http/client.ts'
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
  /** Where it is not the catalog that told of them. */
  readonly noted?: Pick<Answer, 'index' | 'era'>
}

export interface CatalogReader {
  /** @throws {SyntaxError} when it is no JSON object. */
  readonly read: (answer: Pick<Answer, 'chunks' | 'index' | 'era'>) => Promise<readonly Service[]>
  /** Whether it lists a service, or one was noted. */
  readonly has: (name: string) => boolean
  /** The versions it lists of a service, or that were noted. */
  readonly find: (name: string) => readonly Service[]
  /**
   * The same list with the versions of a service the catalog has not told of yet; undefined: it has. They stay until it does,
   * or is newer than they are.
   */
  readonly note: (
    name: string,
    services: readonly Service[],
    answer: Pick<Answer, 'index' | 'era'>,
  ) => readonly Service[] | undefined
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
}: CatalogOptions): CatalogReader {
  let known = new Map<string, Known>()
  let listed: readonly Service[] = []

  function readService(name: string, tags: unknown): Omit<Known, 'hash' | 'revision'> {
    const tell = (reason: string): void => warn(`service ${name}: ${reason}`)
    const read = parseTags(tags, domain, tell)
    for (const oddity of findTagWarnings(read)) tell(oddity)
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

  function list(): readonly Service[] {
    listed = [...known.values()].flatMap(({ services }) => services)
    onDomains?.(new Set([...known.values()].flatMap(({ domains }) => [...domains])))
    return listed
  }

  return {
    async read(answer) {
      // Another answer may be read between two turns of this one.
      const before = known
      const read: typeof known = new Map()
      let changes = 0
      let isEmpty = true
      await scanCatalog(answer.chunks, ({ name, hash, revision, readTags }) => {
        isEmpty = false
        if (name === CONSUL_ITSELF) return
        const old = before.get(name)
        if (old?.hash !== hash || old.revision !== revision) onChanged(name)
        if (old?.hash === hash) {
          read.set(name, old.revision === revision ? old : { ...old, revision })
          return
        }
        changes++
        const tags = readTags()
        // Consul collects them from all instances, in another order each time.
        const sorted = Array.isArray(tags) ? tags.filter((tag) => !isRevision(tag)).sort() : tags
        read.set(name, { hash, revision, ...readService(name, sorted) })
      })
      // Consul before 1.11 does not tell what it hides from a token.
      if (isEmpty) warn(NOTHING)
      for (const [name, old] of before) {
        if (read.has(name)) continue
        if (old.noted !== undefined && isOlder(answer, old.noted)) read.set(name, old)
        else onChanged(name)
      }
      const isSame = changes === 0 && read.size === before.size && known === before
      known = read
      return isSame ? listed : list()
    },

    has: (name) => known.has(name),

    find: (name) => known.get(name)?.services ?? [],

    note(name, services, { index, era }) {
      if (known.has(name) || name === CONSUL_ITSELF) return undefined
      known.set(name, {
        hash: '',
        revision: 0,
        services: services.map((service) => ({ ...service, nodes: [] })),
        domains: new Set([domain]),
        noted: { index, era },
      })
      return list()
    },
  }
}

/** Whether an answer of the catalog tells of a state before that of another one. */
function isOlder(
  answer: Pick<Answer, 'index' | 'era'>,
  noted: Pick<Answer, 'index' | 'era'>,
): boolean {
  return answer.era === noted.era && Number(answer.index) < Number(noted.index)
}

function listVersions({ marked, versions, domains }: ReadTags, domain: string): readonly string[] {
  if (marked && versions.length > 0) return versions
  const here = domains.size === 0 ? domain === DEFAULT_DOMAIN : domains.has(domain)
  // Registered by mx, its version is a tag: in this domain there is none.
  return here && !(marked && domains.size > 0) ? [DEFAULT_VERSION] : []
}
