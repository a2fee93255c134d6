/** Why no connection came about. */
export type ConnectFault =
  | 'refused'
  | 'name'
  | 'name-timeout'
  | 'route'
  | 'timeout'
  | 'client-certificate'
  | 'certificate'
  | 'tls'
  | 'http2'
  | 'closed'
  | 'other'

/** By what Node.js and OpenSSL say of it; a refusal first, for what follows its code may be a name such as `tls.example`. */
const FAULTS: readonly (readonly [said: RegExp, fault: ConnectFault])[] = [
  [/\bECONNREFUSED\b|has stopped$/, 'refused'],
  [/\b(?:ENOTFOUND|EAI_NODATA|EAI_NONAME|EAI_FAIL)\b/, 'name'],
  [/\b(?:EAI_AGAIN|ETIMEOUT)\b/, 'name-timeout'],
  [/\b(?:ENETUNREACH|EHOSTUNREACH)\b/, 'route'],
  [/\bETIMEDOUT\b|no answer within|in time$/, 'timeout'],
  [/^Protocol error$|not offer HTTP\/2/, 'http2'],
  [/alert certificate required/i, 'client-certificate'],
  [/certificate|altnames|issuer/i, 'certificate'],
  [/\b(?:SSL|TLS)\b|wrong version number|EPROTO/i, 'tls'],
  [/\b(?:ECONNRESET|EPIPE)\b|socket hang up/, 'closed'],
]
/** A failure of OpenSSL as Node.js words it: with a thread, a number and a place in its source. */
const OPENSSL = /^(.*?)[0-9A-F]{8,}:error:[0-9A-F]+:([^:]*):[^:]*:([^:]*):.*$/s

/** What an error of a socket says, in one line. */
export function toConnectDetail({ message, code }: NodeJS.ErrnoException): string {
  // One of several addresses has no words of its own.
  if (message === '') return `connect ${code ?? 'failed'}`
  return message.replace(OPENSSL, '$1$2: $3')
}

/** Sorts what a failed connection was told to fail of. */
export function findConnectFault(detail: string): ConnectFault {
  return FAULTS.find(([said]) => said.test(detail))?.[1] ?? 'other'
}

/** The same for whoever asked, without addresses; `who` is there to be connected to: `the backend`. */
export function describeConnectFault(detail: string, who: string): string {
  switch (findConnectFault(detail)) {
    case 'refused':
      return `${who} refused the connection`
    case 'name':
      return `the name of ${who} does not resolve`
    case 'name-timeout':
      return `the name of ${who} was not resolved in time`
    case 'route':
      return `there is no route to ${who}`
    case 'timeout':
      return `${who} took no connection in time`
    case 'client-certificate':
      return `${who} requires a client certificate, which the gateway does not send`
    case 'certificate':
      return `the certificate of ${who} is not trusted`
    case 'tls':
      return `the TLS handshake with ${who} failed`
    case 'http2':
      return `${who} does not speak HTTP/2`
    case 'closed':
      return `${who} closed the connection before it answered`
    case 'other':
      return `no connection to ${who} came about`
  }
}
