import { CALLER_ADDRESS } from '../../core/auth/identity-headers.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Context } from '../../sdk/context.ts'
import { metadata } from '../../sdk/context.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'

/** Audit record. It contains no secrets or tokens. */
export interface AuditRecord {
  /**
   * Action as `<object>.<action>`, such as `account.create`, `login.failed`, `login.refused`,
   * `refresh.failed` or `token.reused`.
   */
  readonly action: string
  /** Namespace of the target. */
  readonly namespace: string
  /** Id of the target. */
  readonly target: string
  /** Account as `<namespace>/<id>`; `server` for the server itself; empty if anonymous. */
  readonly account: string
  /** IP address of the caller; empty if unknown. */
  readonly address: string
  /** Request id as shown in the gateway's log. */
  readonly request: string
  /** Unix time in milliseconds. */
  readonly time: number
}

/** Records an action of the caller, or of the server itself if there is no caller. */
export type Audit = (
  ctx: Context | undefined,
  action: string,
  details: Pick<AuditRecord, 'namespace' | 'target'>,
) => void

export interface AuditOptions {
  readonly log: ServiceLog
  /** Stores a record. */
  readonly store: (record: AuditRecord) => Maybe<void>
  /** Unix time in milliseconds. */
  readonly nowMs: () => number
}

// No account can have this name, because account names start with a namespace.
const SERVER_ACTOR = { account: 'server', address: '', request: '' }

/** Creates an audit log. A record that cannot be stored is written to the server log. */
export function createAudit({ log, store, nowMs }: AuditOptions): Audit {
  return (ctx, action, { namespace, target }) => {
    const record: AuditRecord = {
      ...{ action, namespace, target: target.slice(0, 200) },
      ...(ctx === undefined ? SERVER_ACTOR : toCaller(ctx)),
      time: nowMs(),
    }
    const onError = (err: unknown): void =>
      log.warn({ ...record, err }, 'cannot store audit record')
    try {
      Promise.resolve(store(record)).catch(onError)
    } catch (error) {
      onError(error)
    }
  }
}

function toCaller(ctx: Context) {
  const { account, id } = ctx
  return {
    account: account === undefined ? '' : `${account.issuer}/${account.id}`,
    address: addressOf(ctx),
    request: id,
  }
}

/** Returns the IP address of the caller as set by the gateway or RPC proxy; empty if unknown. */
export function addressOf(ctx: Context): string {
  return metadata.get(ctx, CALLER_ADDRESS)[0]
}
