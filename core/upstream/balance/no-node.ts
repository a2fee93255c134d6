import { GatewayError } from '../../errors.ts'

/** Seconds, as text. */
const RETRY_AFTER = ['retry-after', '1']

/**
 * 503 for a registered service without a usable node (reference 15.2): temporary, so that clients and balancers retry.
 */
export function toNoNode(service: string): GatewayError {
  return new GatewayError(service, 503, `no node of ${service} is available`, {
    headers: RETRY_AFTER,
  })
}
