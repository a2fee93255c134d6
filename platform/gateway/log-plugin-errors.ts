import { inspect } from 'node:util'
import type { ReportFault, Stage } from '../../core/chain.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { Log } from '../process/log.ts'

/** Logs unexpected errors in stages with their request. */
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
  const { plugin, hook = 'gateway' } = stage ?? {}
  if (plugin !== undefined && hook === 'close') return `plugin "${plugin}" failed to close`
  const failed = plugin === undefined ? `${hook} failed` : `plugin "${plugin}" threw in ${hook}`
  if (hook === 'onDone') return `${failed} after the response`
  if (hook !== 'onReply' && hook !== 'onReplyBody' && x?.answered)
    return `${failed} after the response started`
  return `${failed}; sent 500`
}
