import type { WorkloadState } from '../../../core/contracts/runtime.ts'
import type { Deployment } from './deployment.ts'
import type { ServiceRecord } from './records.ts'

/** Observed state of an object. */
export interface Live {
  /** Deployment in progress, if any. */
  readonly deployment: Pick<Deployment, 'requestId' | 'phase'> | undefined
  /** State last reported by the runtime; undefined if no instance is running. */
  readonly state: WorkloadState | undefined
  readonly nowMs: number
}

/** Merges the observed state into the record. Returns the same record if nothing has changed. */
export function withLive(record: ServiceRecord, { deployment, state, nowMs }: Live): ServiceRecord {
  const { asked, settled, current } = record
  const isInProgress = asked.id !== settled
  const phase = deployment?.requestId === asked.id ? deployment.phase : 'pending'
  const serves = current !== undefined && state?.revision === current.id
  const isUpdate = isInProgress && serves
  const isUnscheduled = state?.status === 'pending' && state.revision === asked.id
  let { status } = record
  if (record.deleting) status = 'stopping'
  else if (isInProgress && !serves)
    status = phase === 'starting' && isUnscheduled ? 'pending' : phase
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
  const isTransition = next.status !== record.status || next.update !== record.update
  const { update: _, fault: __, restarts: ___, lastFailure: ____, ...rest } = record
  return {
    ...rest,
    ...{ status: next.status, startedMs: next.startedMs, retries: next.retries },
    ...(next.update !== undefined && { update: next.update }),
    ...(next.fault !== undefined && { fault: next.fault }),
    ...(next.restarts !== undefined && { restarts: next.restarts }),
    ...(next.lastFailure !== undefined && { lastFailure: next.lastFailure }),
    changedMs: isTransition ? nowMs : record.changedMs,
  }
}
