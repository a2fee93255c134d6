import { promises, type SrvRecord } from 'node:dns'
import { resolveBySystem } from '../../../core/egress/resolve.ts'

/** Resolves the names of nodes. Results are sorted, so that equal results compare equal. */
export interface NameResolver {
  /** IP addresses of a host name. @throws {Error} from Node.js, even if the name does not exist. */
  readonly addresses: (host: string) => Promise<readonly string[]>
  /** SRV records (RFC 2782). @throws {Error} from Node.js, even if the name does not exist. */
  readonly services: (name: string) => Promise<readonly SrvRecord[]>
}

/** Timeout of a query in milliseconds, and number of attempts. */
const QUERY = { timeout: 2000, tries: 2 }
/** Error codes: the name exists without such a record, or does not exist. */
const NO_RECORD: ReadonlySet<string | undefined> = new Set(['ENODATA', 'ENOTFOUND'])

/**
 * @param servers name servers as `address` or `address:port`. If empty, the system's hosts file and
 * DNS are used.
 */
export function createNameResolver(servers: readonly string[]): NameResolver {
  const resolver = new promises.Resolver(QUERY)
  if (servers.length > 0) resolver.setServers(servers)
  return {
    async addresses(host) {
      const found = await (servers.length === 0 ? resolveBySystem(host) : resolveBoth(host))
      return [...new Set(found)].sort()
    },

    async services(name) {
      const records = await resolver.resolveSrv(name)
      return records.sort((a, b) => compare(toText(a), toText(b)))
    },
  }

  async function resolveBoth(host: string): Promise<readonly string[]> {
    const [a, aaaa] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const failures = [a, aaaa].flatMap((result) =>
      result.status === 'rejected' ? [result.reason as NodeJS.ErrnoException] : [],
    )
    // A timeout for one address family must not remove its addresses.
    const failure = failures.find(({ code }) => !NO_RECORD.has(code))
    if (failure !== undefined) throw failure
    if (failures.length === 2) throw failures[0]
    return [a, aaaa].flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  }
}

function toText({ name, port, priority, weight }: SrvRecord): string {
  return JSON.stringify([name, port, priority, weight])
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
