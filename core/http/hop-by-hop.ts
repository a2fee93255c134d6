/**
 * Reply fields that services do not decide: those of the connection (RFC 9110 §7.6.1) and of where the message
 * ends, which the listener writes itself, and `Date`, too.
 */
export const NOT_OF_SERVICES: ReadonlySet<string> = new Set([
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
