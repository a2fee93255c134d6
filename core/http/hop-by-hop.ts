/**
 * Response headers that services cannot set because the listener writes them: hop-by-hop headers (RFC 9110 §7.6.1),
 * framing headers and `Date`.
 */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
