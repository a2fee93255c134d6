import type { GatewayError } from '../../core/errors.ts'
import { explainTls } from '../../lib/net/tls-error-hint.ts'

/** Matches the address that precedes the reason of a failed connection. */
const PREFIX = /^no connection to .+?:\d+: /
/** Reasons that add no information to "unreachable". */
const NOT_LISTENING = /ECONNREFUSED|ECONNRESET/
/** Error of a plaintext connection to a TLS server. */
const HUNG_UP = 'socket hang up'

/**
 * Reason why the server of an environment cannot be reached.
 *
 * @param address `host:port`, or `mxs://host:port` for TLS
 * @returns undefined if no server is listening
 */
export function findReason({ message, cause }: GatewayError, address: string): string | undefined {
  if (message.includes('call protocol')) return 'another program listens at this address'
  if (typeof cause !== 'string' || !PREFIX.test(cause)) return undefined
  const reason = cause.replace(PREFIX, '').trim()
  if (address.startsWith('mxs://')) {
    const explained = explainTls(reason, 'mx://', 'NODE_EXTRA_CA_CERTS')
    return explained === reason && NOT_LISTENING.test(reason) ? undefined : explained
  }
  if (reason === HUNG_UP) return `${reason}; if the server uses TLS, use mxs://${address}`
  return NOT_LISTENING.test(reason) ? undefined : reason
}
