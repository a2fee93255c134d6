/** Codes of Node.js and OpenSSL for certificates nobody trusts, wrong names and handshakes that fail. */
const TLS_CODE = /CERT|TLS|SSL|SIGNATURE|ISSUER/
/** Names of the library's errors. */
const REFUSED = ['AuthorizationError', 'UserAuthenticationExpiredError']

/** An error that connecting again does not mend, until somebody changes something (`isRefusal`). */
export function toPermissionError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { denied: true })
}

/** Why a connection could not be made, or was lost: a refusal, or an outage. */
export function toConnectError(error: unknown): Error {
  if (!(error instanceof Error)) return new Error('the connection was closed')
  if ('denied' in error) return error
  const { name, message } = error
  if (REFUSED.includes(name)) return toPermissionError(`it refuses who comes: ${message}`, error)
  const { code = '' } = error as NodeJS.ErrnoException
  if (TLS_CODE.test(code)) return toPermissionError(`TLS: ${message}`, error)
  return error
}
