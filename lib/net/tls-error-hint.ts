/** OpenSSL errors that indicate a server without TLS. */
const NO_TLS = /wrong version number|packet length too long|http request/

/** OpenSSL errors that indicate a certificate from an unknown authority. */
const UNKNOWN_AUTHORITY = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed/

/**
 * Explains why a TLS connection failed, with a remedy for a server without TLS and for an unknown authority.
 *
 * @param plain scheme without TLS, such as `mx://`.
 * @param authorities setting for trusted authorities, such as `NODE_EXTRA_CA_CERTS`.
 */
export function explainTls(reason: string, plain: string, authorities: string): string {
  if (NO_TLS.test(reason)) return `the server does not use TLS; use ${plain} instead`
  if (!UNKNOWN_AUTHORITY.test(reason)) return reason
  return `${reason}: set ${authorities} to the file of its certificate authority`
}
