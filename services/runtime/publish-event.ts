import type { Context } from '../../sdk/context.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'
import type { Action } from './endpoints.ts'
import { toMessage } from './state/deployment.ts'
import { formatObject, type ServiceRecord } from './state/records.ts'

/** Audit event for a service change (reference 7.3). */
export interface RuntimeEvent {
  readonly action: Action
  readonly namespace: string
  readonly name: string
  readonly version: string
  /** Account that made the change as `<namespace>/<id>`; empty if anonymous. */
  readonly account: string
  /** Request id as shown in the gateway's log. */
  readonly request: string
  /** Unix time in milliseconds. */
  readonly time: number
}

export interface PublishEventOptions {
  readonly log: ServiceLog
  /** Stores an event. @default events are only logged */
  readonly store?: (event: RuntimeEvent) => Promise<void>
  readonly nowMs: () => number
}

/** Publishes audit events. If an event cannot be stored, it is logged. */
export function createPublishEvent({ log, store = async () => {}, nowMs }: PublishEventOptions) {
  return (ctx: Context, action: Action, record: ServiceRecord): void => {
    const { namespace, name, version } = record
    const { account, id: request } = ctx
    const event: RuntimeEvent = {
      ...{ action, namespace, name, version, request, time: nowMs() },
      account: account === undefined ? '' : `${account.issuer}/${account.id}`,
    }
    log.info({ service: formatObject(record), namespace, account: event.account }, action)
    store(event).catch((error: unknown) =>
      log.warn({ ...event, reason: toMessage(error) }, 'cannot store runtime event'),
    )
  }
}
