import { inspect } from 'node:util'
import type { ReportFault, Stage } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Log } from '../process/log.ts'

/** Logs unexpected errors of stages with their request. */
export function logFaults(log: Log): ReportFault {
  return (error, x, stage) => {
    const thrown = error instanceof Error ? { err: error } : { thrown: inspect(error) }
    const request = x && {
      id: x.id,
      trace: x.trace?.traceId,
      method: x.method,
      path: x.path,
      service: x.route?.service,
    }
    log.error({ ...thrown, ...stage, ...request }, describe(x, stage))
  }
}

function describe(x: Exchange | undefined, stage: Stage | undefined): string {
  switch (stage?.hook) {
    case 'close':
      return 'plugin failed to close'
    case 'onDone':
      return 'onDone hook failed after the response'
    case 'onReply':
      return 'stage failed; sent 500'
    default:
      return x?.answered ? 'stage failed after the response started' : 'stage failed; sent 500'
  }
}
