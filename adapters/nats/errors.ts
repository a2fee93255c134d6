/** Node.js and OpenSSL error codes of untrusted certificates, wrong names and failed handshakes. */
const TLS_CODE = /CERT|TLS|SSL|SIGNATURE|ISSUER/
/** Error names used by the library. */
const DENIED = ['AuthorizationError', 'UserAuthenticationExpiredError']

/** Creates an error with `isPermanent` set: reconnecting does not resolve it. */
export function toPermissionError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { denied: true })
}

/** Returns the reason for a failed or lost connection, a denial or an outage. */
export function toConnectError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('the connection was closed')
  if ('denied' in error) return error
  const { name, message } = error
  if (DENIED.includes(name)) return toPermissionError(`authentication failed: ${message}`, error)
  const { code = '' } = error as NodeJS.ErrnoException
  if (TLS_CODE.test(code)) return toPermissionError(`TLS: ${message}`, error)
  return error
}
