import { CALLER_ADDRESS } from '../../core/auth/identity-headers.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { Context } from '../../sdk/context.ts'
import { metadata } from '../../sdk/context.ts'
import type { ServiceLog } from '../../sdk/log/service-log.ts'

/** What somebody did, or tried. It says no secret and no token. */
export interface AuditRecord {
  /** `<what>.<what was done>`, such as `account.create`; `login.failed`, `login.refused`, `refresh.failed`, `token.reused`. */
  readonly action: string
  /** Where. */
  readonly namespace: string
  /** Id of what it was done to. */
  readonly target: string
  /** Who did it, `<namespace>/<id>`; `server`: the server itself; empty: nobody that is known. */
  readonly account: string
  /** From where, an IP address; empty: it is not known. */
  readonly address: string
  /** Of the request, as in the gateway's log. */
  readonly request: string
  /** Unix time in milliseconds. */
  readonly time: number
}

/** Tells what the caller did; without one, the server itself. */
export type Audit = (
  ctx: Context | undefined,
  action: string,
  what: Pick<AuditRecord, 'namespace' | 'target'>,
) => void

export interface AuditOptions {
  readonly log: ServiceLog
  /** Keeps records. */
  readonly keep: (record: AuditRecord) => Maybe<void>
  /** Unix time. */
  readonly nowMs: () => number
}

/** No account has such a name: all have a namespace in front. */
const OF_SERVER = { account: 'server', address: '', request: '' }

/** A record that cannot be kept is in the log: what it tells of has happened. */
export function createAudit({ log, keep, nowMs }: AuditOptions): Audit {
  return (ctx, action, { namespace, target }) => {
    const record: AuditRecord = {
      ...{ action, namespace, target: target.slice(0, 200) },
      ...(ctx === undefined ? OF_SERVER : toCaller(ctx)),
      time: nowMs(),
    }
    const onError = (err: unknown): void =>
      log.warn({ ...record, err }, 'a record of the audit could not be kept')
    try {
      Promise.resolve(keep(record)).catch(onError)
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

/** IP address of the caller, as gateway and RPC proxy write it; empty: it is not known. */
export function addressOf(ctx: Context): string {
  return metadata.get(ctx, CALLER_ADDRESS)[0]
}
