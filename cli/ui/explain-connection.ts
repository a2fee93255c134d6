import type { GatewayError } from '../../core/errors.ts'
import { explainTls } from '../../lib/net/tls-error-hint.ts'

/** What the address stands before the reason of a connection that could not be made. */
const WHERE = /^no connection to .+?:\d+: /
/** Nobody listens, or whoever did is gone: the address alone says what is to be said. */
const NOBODY = /ECONNREFUSED|ECONNRESET/
/** Of a server that waits for TLS. */
const HUNG_UP = 'socket hang up'

/**
 * Why no connection came about with whoever listens at the address of an environment.
 *
 * @param address `host:port`, or `mxs://host:port` over TLS.
 * @returns undefined: nobody is there.
 */
export function findReason({ message, cause }: GatewayError, address: string): string | undefined {
  if (message.includes('call protocol')) return 'another program listens there'
  if (typeof cause !== 'string' || !WHERE.test(cause)) return undefined
  const reason = cause.replace(WHERE, '').trim()
  if (address.startsWith('mxs://')) {
    const told = explainTls(reason, 'mx://', 'NODE_EXTRA_CA_CERTS')
    return told === reason && NOBODY.test(reason) ? undefined : told
  }
  if (reason === HUNG_UP) return `${reason}; is it one with TLS, mxs://${address}?`
  return NOBODY.test(reason) ? undefined : reason
}
