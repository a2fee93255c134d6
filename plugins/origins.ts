import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { compileOrigins } from '../core/http/origins.ts'
import { isSameHost } from '../core/http/same-host.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { quote } from '../core/request/bad-request.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    default: [],
    description:
      'Origins let in besides the host itself: https://app.example.com or https://*.example.com.',
  }),
})

/** Of links that are followed. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Handlers that show pages. */
const PAGES: ReadonlySet<string> = new Set(['proxy', 'http', 'web'])

/**
 * Refuses with 403 what web pages of other hosts send: whatever page a browser shows may otherwise have it call all that it reaches,
 * WebSockets and loopback included. Who is no browser says nothing of pages, and passes.
 *
 * Browsers say which page asks, in `Origin` or `Sec-Fetch-Site` (W3C Fetch Metadata). A link on any page may lead to a page: to what is
 * proxied, or declares GET as its only method, but to no other endpoint, for which GET is a call like any other.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'origins',
  description: 'Refuses requests of web pages of other hosts.',
  options,
  create({ allow }) {
    const isAllowed = compileOrigins(allow)
    return {
      onRequest(x) {
        const { headers } = x
        const origin = headers.get('origin')
        const site = headers.get('sec-fetch-site')
        // What the browser compared itself: behind a proxy, `Host` may be another.
        if (site === 'same-origin') return
        if (origin !== undefined) {
          const isKnown = isAllowed(origin.toLowerCase()) || isSameHost(origin, x.host)
          if (isKnown && headers.getAll('origin').length === 1) return
          throw refuse(
            `web pages of ${quote(origin)} may not send requests here; --web_origins lists those that may`,
          )
        }
        if (site === undefined || site === 'none' || isLink(x)) return
        throw refuse(
          'web pages of other sites may not load anything from here; --web_origins=any would let them',
        )
      },
      onRoute(x) {
        if (x.headers.get('sec-fetch-site') !== 'cross-site' || x.headers.has('origin')) return
        if (isPage(x)) return
        throw refuse(
          'links of other sites may not call endpoints: enter the address, or let them by --web_origins=any',
        )
      },
    }
  },
})

export default plugin

function refuse(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 403, detail)
}

/** Whether it takes the place of the page in the browser. */
function isLink({ method, headers }: Exchange): boolean {
  return (
    METHODS.has(method) &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  )
}

/** Whether it is only looked at, by what its service declares. */
function isPage({ route, upstream }: Exchange): boolean {
  if (route === undefined || route.endpoint === '') return true
  if (PAGES.has(route.handler ?? upstream?.handler ?? '')) return true
  const methods = upstream?.endpoints.get(route.endpoint)?.metadata['method'] ?? ''
  return methods.split(',').every((method) => METHODS.has(method.trim().toUpperCase()))
}
