import { inspect } from 'node:util'
import type { ReportFault, Stage } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Log } from '../process/log.ts'

/** Logs what stages threw that is no answer, and of which request. */
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

/** What a fault meant for its request. */
function describe(x: Exchange | undefined, stage: Stage | undefined): string {
  switch (stage?.hook) {
    case 'close':
      return 'a plugin failed to close'
    case 'onDone':
      return 'a hook failed after the reply'
    case 'onReply':
      return 'a stage failed; answered 500'
    default:
      return x?.answered ? 'a stage failed after the reply began' : 'a stage failed; answered 500'
  }
}
