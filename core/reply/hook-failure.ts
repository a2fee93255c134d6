import type { ReportFault, Stage } from '../chain.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { isFinalStatus } from '../http/final-status.ts'

/** Reports an unexpected error of a hook. Returns the error that replaces the response. */
export function toHookFailure(
  x: Exchange,
  stage: Stage | undefined,
  error: unknown,
  onFault: ReportFault | undefined,
): GatewayError {
  const thrown = GatewayError.from(error)
  const failure = isFinalStatus(thrown.code) ? thrown : GatewayError.from(undefined)
  if (failure !== error) onFault?.(error, x, stage)
  return failure
}
