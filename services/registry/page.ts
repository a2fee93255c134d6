import type { Service } from '../../core/contracts/registry.ts'
import { badRequest } from '../../sdk/errors.ts'
import type { Domain } from './domains.ts'
import { type ServiceEntry, toEntry } from './entry.ts'
import { MAX_ENTRIES_BYTES, type ReportOmitted } from './fit-message.ts'
import { type Listed, withNodes } from './nodes/load-nodes.ts'
import { queryRegistry } from './query.ts'
import { compareServices, compareText } from './sorted-list.ts'

export interface PageRequest {
  /** Page size, including omitted entries. */
  readonly limit: number
  /** Cursor of the previous page; empty for the first page. */
  readonly after: string
}

export interface Page {
  readonly services: readonly ServiceEntry[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

interface Found extends Listed {
  readonly place: Place
}

/** Position in the list, which is sorted by name, version and domain. */
interface Place {
  readonly name: string
  readonly version: string
  readonly domain: string
}

/**
 * Maximum size of a page as JSON. A page is built in one event loop tick, which must be short
 * (bench/micro/routing/registry-list.ts).
 */
const MAX_PAGE_BYTES = 512 * 1024

/**
 * Reads a page of the services in some domains.
 *
 * @param onOmit called for each entry that is too large for a response.
 * @param id id used in the error.
 * @throws {GatewayError} 400 for an invalid cursor, 503 if a registry is unavailable.
 */
export async function readPage(
  domains: readonly Domain[],
  { limit, after }: PageRequest,
  onOmit: ReportOmitted,
  id: string,
): Promise<Page> {
  const place = after === '' ? undefined : parsePlace(after, id)
  const found: Found[] = []
  for (const { name: domain, list, registry } of domains) {
    const services = await queryRegistry(registry, id, list)
    const first = place === undefined ? 0 : findFirstAfter(services, domain, place)
    // Reads one more than the page size, to detect further pages.
    for (const service of services.slice(first, first + limit + 1))
      found.push({ place: toPlace(service, domain), service, registry })
  }
  if (domains.length > 1) found.sort((a, b) => comparePlaces(a.place, b.place))
  const services: ServiceEntry[] = []
  let used = 0
  let seen = 0
  for await (const { service, place } of withNodes(found.slice(0, limit), id)) {
    const entry = toEntry(service, place.domain)
    const bytes = Buffer.byteLength(JSON.stringify(entry))
    const isTooLong = bytes > MAX_ENTRIES_BYTES
    if (services.length > 0 && !isTooLong && used + bytes > MAX_PAGE_BYTES) break
    seen++
    if (isTooLong) {
      onOmit(entry, bytes)
      continue
    }
    used += bytes
    services.push(entry)
  }
  if (seen === found.length) return { services }
  return { services, next: formatPlace(found[seen - 1]!.place) }
}

/** Returns the index of the first service after a position. */
function findFirstAfter(services: readonly Service[], domain: string, place: Place): number {
  let low = 0
  let high = services.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePlaces(toPlace(services[middle]!, domain), place) > 0) high = middle
    else low = middle + 1
  }
  return low
}

function toPlace({ name, version }: Service, domain: string): Place {
  return { name, version, domain }
}

function comparePlaces(a: Place, b: Place): number {
  return compareServices(a, b) || compareText(a.domain, b.domain)
}

// None of the three parts contains a space.
function formatPlace({ name, version, domain }: Place): string {
  return `${name} ${version} ${domain}`
}

function parsePlace(text: string, id: string): Place {
  const [name, version, domain, ...rest] = text.split(' ')
  if (name === undefined || version === undefined || domain === undefined || rest.length > 0)
    throw badRequest(
      id,
      `request.after must be a cursor returned as next, got ${JSON.stringify(text.slice(0, 100))}`,
    )
  return { name, version, domain }
}
