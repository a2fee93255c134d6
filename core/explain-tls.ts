/** OpenSSL on an answer that is no TLS: a plain server's. */
const NO_TLS = /wrong version number|packet length too long|http request/

/** Why a connection over TLS failed; in words, where the other side speaks none. @param plain the scheme without TLS: `mx://`. */
export function explainTls(reason: string, plain: string): string {
  return NO_TLS.test(reason) ? `it speaks no TLS; was ${plain} meant?` : reason
}
