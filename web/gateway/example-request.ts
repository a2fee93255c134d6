import type { ConfiguredRouteMessage } from '../../services/gateway/configured-routes.ts'
import { NO_REQUEST } from './explain-draft.ts'

/** Addresses of the words for networks. */
const CLIENTS: Readonly<Record<string, string>> = {
  loopback: '127.0.0.1',
  private: '10.0.0.1',
  unix: '',
}

/** A request with path, host, method and conditions of a route, unless a more specific route has them, too. */
export function toExampleRequest({
  paths,
  hosts,
  methods,
  conditions,
}: Omit<ConfiguredRouteMessage, 'name' | 'source' | 'action' | 'plugins'>): typeof NO_REQUEST {
  const host = hosts[0]?.replace('*', 'a')
  const headers = listValues(conditions, 'header', 'x').map(([name, value]) => `${name}: ${value}`)
  const query = listValues(conditions, 'query', '')
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query)}`
  const network = findFirst(conditions, 'client')
  return {
    ...NO_REQUEST,
    method: methods[0] ?? 'GET',
    path: `${toExamplePath(paths[0] ?? '/')}${search}`,
    headers: [...(host === undefined ? [] : [`Host: ${host}`]), ...headers].join('\n'),
    client: CLIENTS[network] ?? network.replace(/\/\d+$/, ''),
    listener: findFirst(conditions, 'listener'),
  }
}

/** `/{name=shop/*}/{id}/**` as `/shop/a/id`. */
function toExamplePath(template: string): string {
  const path = template
    .replace(/\{[^{}=]+=([^{}]*)\}/g, '$1')
    .replace(/[{}]/g, '')
    .replace(/\/\*\*$/, '')
    .replace(/\*+/g, 'a')
  return path || '/'
}

/** Names and values of conditions such as `header x-beta = 1`. */
function listValues(
  conditions: readonly string[],
  kind: 'header' | 'query',
  present: string,
): string[][] {
  const condition = new RegExp(`^${kind} (\\S+)(?: (?:=|begins with) (.*))?$`)
  return conditions.flatMap((text) => {
    const [, name, value = present] = condition.exec(text) ?? []
    return name === undefined ? [] : [[name, value]]
  })
}

/** First item of a condition such as `client in 10.0.0.0/8, loopback`; empty without one. */
function findFirst(conditions: readonly string[], kind: 'client' | 'listener'): string {
  const start = `${kind} in `
  const match = conditions.find((text) => text.startsWith(start))
  return match?.slice(start.length).split(', ')[0] ?? ''
}
