import type { Context } from '../../sdk/context.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import type { Action } from './endpoints.ts'
import { toMessage } from './state/deployment.ts'
import { formatObject, type ServiceRecord } from './state/records.ts'

/** What somebody did with a service (reference 7.3). */
export interface RuntimeEvent {
  readonly action: Action
  readonly namespace: string
  readonly name: string
  readonly version: string
  /** Who did it, `<namespace>/<id>`; empty: nobody that is known. */
  readonly account: string
  /** Of the request, as in the gateway's log. */
  readonly request: string
  /** Unix time in milliseconds. */
  readonly time: number
}

export interface PublishEventOptions {
  readonly log: ServiceLog
  /** @default the log alone tells it */
  readonly keep?: (event: RuntimeEvent) => Promise<void>
  readonly nowMs: () => number
}

/** Tells what was done; what cannot be kept is in the log, for it has happened. */
export function createPublishEvent({ log, keep = async () => {}, nowMs }: PublishEventOptions) {
  return (ctx: Context, action: Action, record: ServiceRecord): void => {
    const { namespace, name, version } = record
    const { account, id: request } = ctx
    const event: RuntimeEvent = {
      ...{ action, namespace, name, version, request, time: nowMs() },
      account: account === undefined ? '' : `${account.issuer}/${account.id}`,
    }
    log.info({ service: formatObject(record), namespace, account: event.account }, action)
    keep(event).catch((error: unknown) =>
      log.warn({ ...event, reason: toMessage(error) }, 'an event of the runtime could not be kept'),
    )
  }
}
