import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { isSameHost } from '../../core/http/host/same-host.ts'
import { compileOrigins } from '../../core/http/origin/origins.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { quote } from '../../core/request/bad-request.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    default: [],
    description:
      'Allowed origins in addition to the same host: https://app.example.com or https://*.example.com.',
  }),
})

/** Methods of link navigations. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Handlers that serve pages. */
const PAGES: ReadonlySet<string> = new Set(['proxy', 'http', 'web'])

/**
 * Rejects requests from web pages of other hosts with 403. Otherwise any page could call every service that its
 * visitor's browser can reach, including WebSockets and loopback addresses. Clients other than browsers send no origin
 * and are allowed.
 *
 * Browsers identify the page by `Origin` or `Sec-Fetch-Site` (W3C Fetch Metadata). A cross-site link may open a proxied
 * page or an endpoint that declares GET as its only method. Other endpoints are rejected, because a GET calls them.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'origins',
  description: 'Rejects requests from web pages of other hosts.',
  options,
  create({ allow }) {
    const isAllowed = compileOrigins(allow)
    return {
      onRequest(x) {
        const { headers } = x
        const origin = headers.get('origin')
        const site = headers.get('sec-fetch-site')
        // The browser has compared the origins itself; behind a proxy, `Host` may differ.
        if (site === 'same-origin') return
        if (origin !== undefined) {
          const isKnown = isAllowed(origin.toLowerCase()) || isSameHost(origin, x.host)
          if (isKnown && headers.getAll('origin').length === 1) return
          throw deny(`web origin ${quote(origin)} is not allowed; add it to --web_origins`)
        }
        if (site === undefined || site === 'none' || isLink(x)) return
        throw deny('cross-site requests are not allowed; --web_origins=any allows them')
      },
      onRoute(x) {
        if (x.headers.get('sec-fetch-site') !== 'cross-site' || x.headers.has('origin')) return
        if (isPage(x)) return
        throw deny(
          'links from other sites may not call endpoints; enter the address, or set --web_origins=any',
        )
      },
    }
  },
})

export default plugin

function deny(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 403, detail)
}

/** Whether the request navigates the top-level page. */
function isLink({ method, headers }: Exchange): boolean {
  return (
    METHODS.has(method) &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  )
}

/** Whether the route only serves pages: a proxied path, or an endpoint that declares only GET and HEAD. */
function isPage({ route, upstream }: Exchange): boolean {
  if (route === undefined || route.endpoint === '') return true
  if (PAGES.has(route.handler ?? upstream?.handler ?? '')) return true
  const methods = upstream?.endpoints.get(route.endpoint)?.metadata['method'] ?? ''
  return methods.split(',').every((method) => METHODS.has(method.trim().toUpperCase()))
}
