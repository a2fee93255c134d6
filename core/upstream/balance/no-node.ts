import { GatewayError } from '../../errors.ts'
import type { Upstream } from '../upstream.ts'

/**
 * 503 for a registered service without a usable node, or with an open circuit breaker (reference 15.2). The error is
 * temporary, so that clients and load balancers retry.
 */
export function noNodeError(
  service: string,
  upstream: Pick<Upstream, 'openForMs'> | undefined,
): GatewayError {
  const openForMs = upstream?.openForMs ?? 0
  const detail =
    openForMs === 0
      ? `no node of ${service} is available`
      : `the circuit breaker of ${service} is open after too many failed requests (breaker)`
  const seconds = Math.max(1, Math.ceil(openForMs / 1000))
  return new GatewayError(service, 503, detail, { headers: ['retry-after', `${seconds}`] })
}
