import { GatewayError } from '../errors.ts'
import type { AttemptFailure } from '../upstream/attempts.ts'
import { describeConnectFault } from '../upstream/connect-error.ts'
import type { TransportFailure } from './call.ts'

/**
 * Creates the error for a call without a response (reference 15.2). `detail` is only logged, except for `full`.
 *
 * @param callee the callee: the service, or a proxy in front of it.
 */
export function toTransportError(
  service: string,
  kind: TransportFailure,
  detail: string,
  callee: 'the service' | 'the RPC proxy' = 'the service',
): GatewayError {
  switch (kind) {
    case 'full':
      return new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] })
    case 'timeout':
      return new GatewayError(service, 408, `${service} did not respond in time`, { cause: detail })
    case 'connect':
      return new GatewayError(
        service,
        502,
        `bad gateway: ${describeConnectFault(detail, callee)}`,
        {
          cause: detail,
        },
      )
    case 'foreign':
      return new GatewayError(
        service,
        502,
        callee === 'the service'
          ? 'bad gateway: the service does not speak the call protocol (mx://); register an HTTP service as http://host:port'
          : `bad gateway: ${callee} does not speak the call protocol: another program listens on its address`,
        { cause: detail },
      )
    case 'stopped':
      return new GatewayError(service, 503, `${service} stopped before it responded`, {
        cause: detail,
      })
    default:
      return new GatewayError(service, 502, `bad gateway: ${callee} closed the connection`, {
        cause: detail,
      })
  }
}

/** Classifies a failure for the retry policy and outlier detection. */
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
