/** Reason why a connection failed. */
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

/**
 * Patterns for messages from Node.js and OpenSSL. `refused` comes first because its message may contain a name such as
 * `tls.example`.
 */
const FAULTS: readonly (readonly [pattern: RegExp, fault: ConnectFault])[] = [
  [/\bECONNREFUSED\b|has stopped$/, 'refused'],
  [/\b(?:ENOTFOUND|EAI_NODATA|EAI_NONAME|EAI_FAIL)\b/, 'name'],
  [/\b(?:EAI_AGAIN|ETIMEOUT)\b/, 'name-timeout'],
  [/\b(?:ENETUNREACH|EHOSTUNREACH)\b/, 'route'],
  [/\bETIMEDOUT\b|no response within|(?:in time|timed out)$/, 'timeout'],
  [/^Protocol error$|not offer HTTP\/2/, 'http2'],
  [/alert certificate required/i, 'client-certificate'],
  [/certificate|altnames|issuer/i, 'certificate'],
  [/\b(?:SSL|TLS)\b|wrong version number|EPROTO/i, 'tls'],
  [/\b(?:ECONNRESET|EPIPE)\b|socket hang up/, 'closed'],
]
/** An OpenSSL error as formatted by Node.js, with a thread, a code and a source location. */
const OPENSSL = /^(.*?)[0-9A-F]{8,}:error:[0-9A-F]+:([^:]*):[^:]*:([^:]*):.*$/s

/** Describes a socket error in one line. */
export function toConnectDetail({ message, code }: NodeJS.ErrnoException): string {
  // The error for several failed addresses has an empty message.
  if (message === '') return `connect ${code ?? 'failed'}`
  return message.replace(OPENSSL, '$1$2: $3')
}

/** Classifies a failed connection by its error message. */
export function findConnectFault(detail: string): ConnectFault {
  return FAULTS.find(([pattern]) => pattern.test(detail))?.[1] ?? 'other'
}

/** Describes a failed connection for clients without addresses. `callee` is the peer, such as `the backend`. */
export function describeConnectFault(detail: string, callee: string): string {
  switch (findConnectFault(detail)) {
    case 'refused':
      return `${callee} refused the connection`
    case 'name':
      return `the name of ${callee} does not resolve`
    case 'name-timeout':
      return `resolving the name of ${callee} timed out`
    case 'route':
      return `there is no route to ${callee}`
    case 'timeout':
      return `${callee} did not accept a connection in time`
    case 'client-certificate':
      return `${callee} requires a client certificate, which the gateway does not send`
    case 'certificate':
      return `the certificate of ${callee} is not trusted`
    case 'tls':
      return `the TLS handshake with ${callee} failed`
    case 'http2':
      return `${callee} does not speak HTTP/2`
    case 'closed':
      return `${callee} closed the connection before it responded`
    case 'other':
      return `cannot connect to ${callee}`
  }
}
