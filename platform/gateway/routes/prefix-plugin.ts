import type { Plugin } from '../../../core/chain.ts'
import { mapReplyUrls } from '../../../core/http/reply-urls.ts'

const COOKIE_PATH = /(;\s*path=)([^;]*)/i

/**
 * Restores the paths that clients see in responses, for routes that remove the prefix `stripped`
 * from the request path and add the prefix `added`. Applies to `Location`, `Content-Location` (RFC
 * 9110 §10.2.2, §8.7) and the `Path` of cookies.
 */
export function createPrefixPlugin(stripped: string, added: string): Plugin {
  const restore = (path: string): string => {
    const inner = begins(path, added) ? path.slice(added.length) : undefined
    if (inner === undefined) return path
    return `${stripped}${inner}` || '/'
  }
  // A cookie for `/prefix/` would not be sent with requests to `/prefix` (RFC 6265 §5.1.4).
  const restorePath = (path: string): string => restore(path).replace(/(?<=.)\/$/, '')
  return {
    name: 'prefix',
    onReply(x) {
      mapReplyUrls(
        x.replyHeaders,
        (url) => restoreUrl(url, x.host, restore),
        (cookie) =>
          cookie.replace(COOKIE_PATH, (_, key: string, path: string) => key + restorePath(path)),
      )
    },
  }
}

/** Returns whether a path starts with these segments. */
function begins(path: string, prefix: string): boolean {
  return (
    path.startsWith(prefix) &&
    (prefix === '' ? path.startsWith('/') : '/?#'.includes(path[prefix.length] ?? '/'))
  )
}

/** URLs on other hosts remain unchanged. */
function restoreUrl(url: string, host: string, restore: (path: string) => string): string {
  if (url.startsWith('/') && !url.startsWith('//')) return restore(url)
  const own = [`http://${host}`, `https://${host}`].find(
    (origin) =>
      url.toLowerCase().startsWith(origin.toLowerCase()) &&
      '/?#'.includes(url[origin.length] ?? '/'),
  )
  return own === undefined ? url : url.slice(0, own.length) + restore(url.slice(own.length) || '/')
}
