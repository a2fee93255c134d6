/** OpenSSL errors for a server without TLS. */
const NO_TLS = /wrong version number|packet length too long|http request/

/** OpenSSL errors for a certificate of an unknown authority. */
const UNKNOWN_AUTHORITY = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed/

/**
 * Explains why a TLS connection failed, with a remedy for a server without TLS and for an unknown authority.
 *
 * @param plain scheme without TLS: `mx://`.
 * @param authorities setting of trusted authorities: `NODE_EXTRA_CA_CERTS`.
 */
export function explainTls(reason: string, plain: string, authorities: string): string {
  if (NO_TLS.test(reason)) return `the server does not use TLS; use ${plain} instead`
  if (!UNKNOWN_AUTHORITY.test(reason)) return reason
  return `${reason}: set ${authorities} to the file of its certificate authority`
}
