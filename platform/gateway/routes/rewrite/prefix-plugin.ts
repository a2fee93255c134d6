import type { Plugin } from '../../../../core/chain.ts'
import type { Exchange } from '../../../../core/exchange.ts'
import { mapReplyUrls } from '../../../../core/http/reply-urls.ts'
import type { PrefixChange } from './prefix-change.ts'

/** Key in `x.state` of a request whose path does not have the prefix to remove. */
export const HAS_NO_PREFIX: unique symbol = Symbol('has no prefix')

/** Browsers ignore tabs and line breaks in a URL, and read `\` as `/`. */
const OTHER_HOST = /^\/[\t\n\r]*[/\\]/
const COOKIE_PATH = /(;\s*path=)([^;]*)/i

/**
 * Restores the paths that clients see in responses, for routes that remove the prefix `stripped`
 * from the request path and add the prefix `added`. Applies to `Location`, `Content-Location` (RFC
 * 9110 §10.2.2, §8.7) and the `Path` of cookies.
 */
export function createPrefixPlugin({ stripped, added, isOptional }: PrefixChange): Plugin {
  const restore = createRestore(stripped, added)
  const removeAdded = createRestore('', added)
  return {
    name: 'prefix',
    onReply(x) {
      restoreHeaders(x, isOptional && x.state.has(HAS_NO_PREFIX) ? removeAdded : restore)
    },
  }
}

type Restore = (path: string) => string

function createRestore(stripped: string, added: string): Restore {
  return (path) => {
    if (!begins(path, added)) return path
    const restored = `${stripped}${path.slice(added.length)}`
    if (!restored.startsWith('/')) return `/${restored}`
    // Browsers would resolve it to another host (WHATWG URL §4.4): the path of the backend stays on this one.
    return OTHER_HOST.test(restored) ? path : restored
  }
}

function restoreHeaders({ replyHeaders, host }: Exchange, restore: Restore): void {
  // A cookie for `/prefix/` would not be sent with requests to `/prefix` (RFC 6265 §5.1.4).
  const restorePath = (path: string): string => restore(path).replace(/(?<=.)\/$/, '')
  mapReplyUrls(
    replyHeaders,
    (url) => restoreUrl(url, host, restore),
    (cookie) =>
      cookie.replace(COOKIE_PATH, (_, key: string, path: string) => key + restorePath(path)),
  )
}

/** Returns whether a path starts with these segments. */
function begins(path: string, prefix: string): boolean {
  return (
    path.startsWith(prefix) &&
    (prefix === '' ? path.startsWith('/') : '/?#'.includes(path[prefix.length] ?? '/'))
  )
}

/** URLs on other hosts remain unchanged. */
function restoreUrl(url: string, host: string, restore: Restore): string {
  if (url.startsWith('/') && !url.startsWith('//')) return restore(url)
  const own = [`http://${host}`, `https://${host}`].find(
    (origin) =>
      url.toLowerCase().startsWith(origin.toLowerCase()) &&
      '/?#'.includes(url[origin.length] ?? '/'),
  )
  return own === undefined ? url : url.slice(0, own.length) + restore(url.slice(own.length) || '/')
}
