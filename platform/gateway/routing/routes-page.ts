import type { Service } from '../../../core/contracts/registry.ts'
import type { RouteMessage, RoutesPage, RoutesRequest } from '../../../services/gateway/messages.ts'
import { type ListedBy, listRoutes } from './list-routes.ts'

/** Bytes of JSON of a page, beyond which it ends, and of a service: what is made in one turn of the event loop has to be short. */
const MAX_BYTES = 512 * 1024
/** What is wrong, of a page. */
const MAX_LEFT_OUT = 100

/** The routes to some of these services, by name, with what cannot be served, and where the next page begins; absent: this is the last. */
export function toRoutesPage(
  services: readonly Service[],
  settings: ListedBy,
  { service, limit, after }: RoutesRequest,
): Pick<RoutesPage, 'routes' | 'left_out' | 'next'> {
  const versions = new Map<string, Service[]>()
  for (const each of services) {
    const others = versions.get(each.name)
    if (others === undefined) versions.set(each.name, [each])
    else others.push(each)
  }
  const asked = service === '' ? [...versions.keys()] : [service]
  const names = asked.filter((name) => name > after).sort()
  const routes: RouteMessage[] = []
  const problems: string[] = []
  let bytes = 0
  let done = 0
  for (; done < Math.min(limit, names.length) && bytes < MAX_BYTES; done++) {
    const name = names[done]!
    const listed = listRoutes(versions.get(name) ?? [], settings)
    problems.push(...listed.problems)
    let ofService = 0
    for (const [i, route] of listed.routes.entries()) {
      ofService += JSON.stringify(route).length
      if (ofService > MAX_BYTES) {
        problems.push(`service ${name}: ${listed.routes.length - i} routes more than can be told`)
        break
      }
      routes.push(route)
    }
    bytes += ofService
  }
  const more = problems.length - MAX_LEFT_OUT
  const left_out = [
    ...problems.slice(0, MAX_LEFT_OUT),
    ...(more > 0 ? [`${more} more problems`] : []),
  ]
  return { routes, left_out, ...(done < names.length && { next: names[done - 1]! }) }
}
