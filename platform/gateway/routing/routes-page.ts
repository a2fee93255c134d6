import type { Service } from '../../../core/contracts/registry.ts'
import type { RouteMessage, RoutesPage, RoutesRequest } from '../../../services/gateway/messages.ts'
import { type ListedBy, listRoutes } from './list-routes.ts'

/**
 * Maximum JSON size in bytes of a page and of a service, because event loop ticks must be short.
 */
const MAX_BYTES = 512 * 1024
/** Maximum number of problems per page. */
const MAX_LEFT_OUT = 100

/**
 * Returns one page of routes by service name, including routes that cannot be served. `next` is
 * absent on the last page.
 */
export function toRoutesPage(
  services: readonly Service[],
  settings: ListedBy,
  { service, limit, after }: RoutesRequest,
): Pick<RoutesPage, 'routes' | 'left_out' | 'next'> {
  const versions = new Map<string, Service[]>()
  for (const each of services) versions.set(each.name, [...(versions.get(each.name) ?? []), each])
  const selected = service === '' ? [...versions.keys()] : [service]
  const names = selected.filter((name) => name > after).sort()
  const routes: RouteMessage[] = []
  const problems: string[] = []
  let bytes = 0
  let count = 0
  for (; count < Math.min(limit, names.length) && bytes < MAX_BYTES; count++) {
    const name = names[count]!
    const listed = listRoutes(versions.get(name) ?? [], settings)
    problems.push(...listed.problems)
    let serviceBytes = 0
    for (const [i, route] of listed.routes.entries()) {
      serviceBytes += JSON.stringify(route).length
      if (serviceBytes > MAX_BYTES) {
        problems.push(`service ${name}: ${listed.routes.length - i} more routes are not listed`)
        break
      }
      routes.push(route)
    }
    bytes += serviceBytes
  }
  const more = problems.length - MAX_LEFT_OUT
  const left_out = [
    ...problems.slice(0, MAX_LEFT_OUT),
    ...(more > 0 ? [`${more} more problems`] : []),
  ]
  return { routes, left_out, ...(count < names.length && { next: names[count - 1]! }) }
}
