import { GatewayError } from '../errors.ts'
import type { AttemptFailure } from '../upstream/attempts.ts'
import { describeConnectFault } from '../upstream/connect-error.ts'
import type { TransportFailure } from './call.ts'

/**
 * What a caller is told of a call that has no answer (reference 15.2); `detail` is for logs, but for `full`.
 *
 * @param who was called: the service, or a proxy in front of it.
 */
export function toTransportError(
  service: string,
  kind: TransportFailure,
  detail: string,
  who: 'the service' | 'the RPC proxy' = 'the service',
): GatewayError {
  switch (kind) {
    case 'full':
      return new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] })
    case 'timeout':
      return new GatewayError(service, 408, `${service} did not answer in time`, { cause: detail })
    case 'connect':
      return new GatewayError(service, 502, `bad gateway: ${describeConnectFault(detail, who)}`, {
        cause: detail,
      })
    case 'foreign':
      return new GatewayError(
        service,
        502,
        who === 'the service'
          ? 'bad gateway: the service does not speak the call protocol, as mx:// says; plain HTTP is written http://host:port'
          : `bad gateway: ${who} does not speak the call protocol: another program listens at its address`,
        { cause: detail },
      )
    case 'stopped':
      return new GatewayError(service, 503, `${service} was stopped before it had answered`, {
        cause: detail,
      })
    default:
      return new GatewayError(service, 502, `bad gateway: ${who} went away`, { cause: detail })
  }
}

/** The failure as the retry policy and outlier detection take it. */
export function toAttemptFailure(kind: TransportFailure): AttemptFailure {
  switch (kind) {
    case 'connect':
    case 'foreign':
      return 'connect'
    case 'full':
    case 'unsent':
      return 'unsent'
    case 'closed':
      return 'reset'
    default:
      return 'neutral'
  }
}
