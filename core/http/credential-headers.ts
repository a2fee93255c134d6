/**
 * Request headers with credentials, in lower case. They are neither stored nor sent to subscribers, who could
 * impersonate the caller.
 */
export const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
])
