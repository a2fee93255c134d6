import type { Plugin } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'

/** Matches hosts that are safe to copy into the policy. */
const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS: readonly (readonly [name: string, value: string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
]

/**
 * Adds security headers to all responses, including errors. They allow only the dashboard's own
 * scripts, only connections to its own host, and no frames.
 */
export const secureReplies: Plugin = {
  name: 'secure-replies',
  onReply(x) {
    if (x.status === 101) return
    const { replyHeaders } = x
    for (const [name, value] of HEADERS) replyHeaders.set(name, value)
    replyHeaders.set('content-security-policy', `${POLICY}; connect-src ${toTargets(x)}`)
    if (!replyHeaders.has('cache-control')) replyHeaders.set('cache-control', 'no-store')
  },
}

/** Returns `'self'` and its WebSocket origins, which some browsers do not include in `'self'`. */
function toTargets({ host }: Exchange): string {
  const name = host.toLowerCase()
  return HOST.test(name) ? `'self' ws://${name} wss://${name}` : "'self'"
}
