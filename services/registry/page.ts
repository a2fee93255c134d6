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

interface Candidate extends Listed {
  readonly position: Position
}

/** Position in the list, which is sorted by name, version and domain. */
interface Position {
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
  const start = after === '' ? undefined : parsePosition(after, id)
  const candidates: Candidate[] = []
  for (const { name: domain, list, registry } of domains) {
    const services = await queryRegistry(registry, id, list)
    const first = start === undefined ? 0 : findFirstAfter(services, domain, start)
    // Reads one more than the page size, to detect further pages.
    for (const service of services.slice(first, first + limit + 1))
      candidates.push({ position: toPosition(service, domain), service, registry })
  }
  if (domains.length > 1) candidates.sort((a, b) => comparePositions(a.position, b.position))
  const services: ServiceEntry[] = []
  let used = 0
  let count = 0
  for await (const { service, position } of withNodes(candidates.slice(0, limit), id)) {
    const entry = toEntry(service, position.domain)
    const bytes = Buffer.byteLength(JSON.stringify(entry))
    const isTooLong = bytes > MAX_ENTRIES_BYTES
    if (services.length > 0 && !isTooLong && used + bytes > MAX_PAGE_BYTES) break
    count++
    if (isTooLong) {
      onOmit(entry, bytes)
      continue
    }
    used += bytes
    services.push(entry)
  }
  if (count === candidates.length) return { services }
  return { services, next: formatPosition(candidates[count - 1]!.position) }
}

/** Returns the index of the first service after a position. */
function findFirstAfter(services: readonly Service[], domain: string, position: Position): number {
  let low = 0
  let high = services.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePositions(toPosition(services[middle]!, domain), position) > 0) high = middle
    else low = middle + 1
  }
  return low
}

function toPosition({ name, version }: Service, domain: string): Position {
  return { name, version, domain }
}

function comparePositions(a: Position, b: Position): number {
  return compareServices(a, b) || compareText(a.domain, b.domain)
}

// None of the three parts contains a space.
function formatPosition({ name, version, domain }: Position): string {
  return `${name} ${version} ${domain}`
}

function parsePosition(text: string, id: string): Position {
  const [name, version, domain, ...rest] = text.split(' ')
  if (name === undefined || version === undefined || domain === undefined || rest.length > 0)
    throw badRequest(
      id,
      `request.after must be a cursor returned as next, got ${JSON.stringify(text.slice(0, 100))}`,
    )
  return { name, version, domain }
}
