/** Fields of a request that prove who somebody is: not for subscribers, who could act in the name of the caller, nor to be kept. Lower case. */
export const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-auth-token',
])
