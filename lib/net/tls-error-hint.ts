/** OpenSSL on an answer that is no TLS: a plain server's. */
const NO_TLS = /wrong version number|packet length too long|http request/

/** OpenSSL on a certificate whose authority it does not know. */
const UNKNOWN_AUTHORITY = /unable to (?:verify|get (?:local )?issuer)|self[- ]signed/

/**
 * Why a connection over TLS failed; in words, where the other side speaks none, and with what to do, where its certificate is of an unknown authority.
 *
 * @param plain the scheme without TLS: `mx://`.
 * @param authorities where the authority of a certificate is named: `NODE_EXTRA_CA_CERTS`.
 */
export function explainTls(reason: string, plain: string, authorities: string): string {
  if (NO_TLS.test(reason)) return `it speaks no TLS; was ${plain} meant?`
  if (!UNKNOWN_AUTHORITY.test(reason)) return reason
  return `${reason}: name the file of its certificate's authority in ${authorities}`
}
