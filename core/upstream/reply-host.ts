import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { toHostName } from '../http/host/host-name.ts'
import { mapReplyUrls } from '../http/reply-urls.ts'
import { schemeOf } from '../http/scheme.ts'

const ORIGIN = /^(https?):\/\/([^/?#]*)/i
const DEFAULT_PORT = { http: /:80$/, https: /:443$/ }
const COOKIE_DOMAIN = /;\s*domain=\.?([^;\s]*)\s*/i

/** A request sent to a node. */
interface SentRequest {
  /** `Host`. */
  readonly host: string
  /** Whether the connection uses TLS. */
  readonly secure: boolean
}

/**
 * Converts URLs in `Location` and `Content-Location` that contain the `Host` sent to the node back to client URLs.
 * Removes such a `Domain` from cookies, since clients would reject it (RFC 6265 §5.3).
 */
export function restoreHost(x: Exchange, request: SentRequest, headers: HeaderList): void {
  const sent = request.host.toLowerCase()
  const [nodeHost, clientHost] = [toHostName(sent), toHostName(x.host)]
  const mapUrl = (url: string): string => {
    const [origin, scheme = '', host = ''] = ORIGIN.exec(url.toLowerCase()) ?? []
    if (origin === undefined || stripPort(scheme, host) !== stripPort(scheme, sent)) return url
    // If the scheme differs from the node connection, the URL is a redirect to TLS.
    const isSame = scheme === (request.secure ? 'https' : 'http')
    return `${isSame ? schemeOf(x) : scheme}://${x.host}${url.slice(origin.length)}`
  }
  const mapCookie = (cookie: string): string =>
    cookie.replace(COOKIE_DOMAIN, (attribute, text: string) => {
      const domain = text.toLowerCase()
      return isInside(nodeHost, domain) && !isInside(clientHost, domain) ? '' : attribute
    })
  mapReplyUrls(headers, mapUrl, mapCookie)
}

function stripPort(scheme: string, host: string): string {
  return host.replace(DEFAULT_PORT[scheme as keyof typeof DEFAULT_PORT], '')
}

function isInside(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`)
}
