import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import type { Deployment } from './deployment.ts'
import type { ServiceRecord } from './records.ts'

/** What changes of a record while the object runs. */
export interface Live {
  /** What is on its way, if anything is. */
  readonly deployment: Pick<Deployment, 'asked' | 'phase'> | undefined
  /** As the runtime told it last; undefined: nothing of it runs. */
  readonly state: WorkloadState | undefined
  readonly nowMs: number
}

/** The record as things are now: itself where nothing has changed. */
export function withLive(record: ServiceRecord, { deployment, state, nowMs }: Live): ServiceRecord {
  const { asked, settled, current } = record
  const isUnderWay = asked.id !== settled
  const phase = deployment?.asked === asked.id ? deployment.phase : 'pending'
  const serves = current !== undefined && state?.revision === current.id
  const isUpdate = isUnderWay && serves
  const isUnplaced = state?.status === 'pending' && state.revision === asked.id
  let { status } = record
  if (record.deleting) status = 'stopping'
  else if (isUnderWay && !serves) status = phase === 'starting' && isUnplaced ? 'pending' : phase
  else if (state !== undefined) ({ status } = state)
  const next = {
    status,
    update: isUpdate ? phase : undefined,
    fault: state === undefined ? record.fault : (state.error ?? state.waiting),
    startedMs: state?.startedMs ?? record.startedMs,
    retries: state?.retries ?? record.retries,
    restarts: state === undefined ? record.restarts : state.restarts,
    lastFailure: state === undefined ? record.lastFailure : state.lastFailure,
  }
  const isSame = (Object.keys(next) as (keyof typeof next)[]).every(
    (name) => next[name] === record[name],
  )
  if (isSame) return record
  const isTurn = next.status !== record.status || next.update !== record.update
  const { update: _, fault: __, restarts: ___, lastFailure: ____, ...rest } = record
  return {
    ...rest,
    ...{ status: next.status, startedMs: next.startedMs, retries: next.retries },
    ...(next.update !== undefined && { update: next.update }),
    ...(next.fault !== undefined && { fault: next.fault }),
    ...(next.restarts !== undefined && { restarts: next.restarts }),
    ...(next.lastFailure !== undefined && { lastFailure: next.lastFailure }),
    changedMs: isTurn ? nowMs : record.changedMs,
  }
}
