import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import {
  ATTEMPT_ANNOTATION,
  CONTAINER,
  KEY_ANNOTATION,
  REVISION_ANNOTATION,
  SECRET_ANNOTATION,
} from './manifests.ts'
import { WORKLOAD_LABEL } from './names.ts'

/** What a pod is a copy of; of a Deployment what its pods are to be. */
export interface Template {
  readonly revision: string
  /** Which attempt at it; undefined: the first. */
  readonly attempt: string | undefined
  /** Name of the Secret it reads. */
  readonly secret: string
}

/** What is kept of a Deployment (apps/v1). */
export interface Deployment extends Template {
  readonly key: WorkloadKey
  readonly uid: string
  /** Which one of its descriptions it is; a new one of each change. */
  readonly generation: number
  readonly instances: number
  /** It is about to be gone. */
  readonly isEnding: boolean
  /** Every copy of this revision has been ready, and none is left of another; Unix time in milliseconds of when that was. */
  readonly settledMs: number | undefined
  /** Why it cannot have the copies it is to have. */
  readonly failure: string | undefined
  /** It took longer than it may to come up. */
  readonly isLate: boolean
}

/** What is kept of a Pod (core/v1). */
export interface Pod extends Template {
  readonly name: string
  /** Id of the workload it is a copy of. */
  readonly workload: string
  /** It is about to be gone, or was given up by the cluster, as when it was evicted. */
  readonly isEnding: boolean
  /** Unix time in milliseconds of since when it is ready; undefined: it is not. */
  readonly readySinceMs: number | undefined
  /** Why no node takes it; undefined: one did, or it was not tried yet. */
  readonly unscheduled: string | undefined
  readonly restarts: number
  /** How its container is. */
  readonly waiting: Waiting | undefined
  readonly isRunning: boolean
  /** How it ended last, or now. */
  readonly ended: Ended | undefined
}

export interface Waiting {
  readonly reason: string
  readonly message: string
}

export interface Ended {
  readonly reason: string
  readonly exitCode: number
  /** The last that it wrote. */
  readonly message: string
  /** Milliseconds it ran. */
  readonly ranMs: number
}

/** Phases of pods that run no more, whatever becomes of the others. */
const GIVEN_UP: ReadonlySet<string> = new Set(['Failed', 'Succeeded'])

/** Undefined for one that mx did not make. */
export function toDeploymentState(object: unknown): Deployment | undefined {
  const { metadata, spec, status } = object as RawDeployment
  const key = parseKey(metadata?.annotations?.[KEY_ANNOTATION])
  if (key === undefined) return undefined
  const generation = metadata?.generation ?? 0
  const isSeen = (status?.observedGeneration ?? 0) >= generation
  const find = (type: string): RawCondition | undefined =>
    isSeen ? status?.conditions?.find((condition) => condition.type === type) : undefined
  const progress = find('Progressing')
  const failure = find('ReplicaFailure')
  return {
    key,
    uid: metadata?.uid ?? '',
    generation,
    ...toTemplate(spec?.template?.metadata),
    instances: spec?.replicas ?? 1,
    isEnding: metadata?.deletionTimestamp != null,
    settledMs:
      progress?.reason === 'NewReplicaSetAvailable'
        ? Date.parse(progress.lastUpdateTime ?? '') || 0
        : undefined,
    failure: failure?.status === 'True' ? failure.message : undefined,
    isLate: progress?.reason === 'ProgressDeadlineExceeded',
  }
}

export function toPod(object: unknown): Pod {
  const { metadata, status } = object as RawPod
  const find = (type: string): RawCondition | undefined =>
    status?.conditions?.find((condition) => condition.type === type)
  const ready = find('Ready')
  const scheduled = find('PodScheduled')
  const container = status?.containerStatuses?.find(({ name }) => name === CONTAINER)
  const { waiting, running, terminated } = container?.state ?? {}
  const ended = terminated ?? container?.lastState?.terminated
  const isEnding = metadata?.deletionTimestamp != null || GIVEN_UP.has(status?.phase ?? '')
  return {
    name: metadata?.name ?? '',
    workload: metadata?.labels?.[WORKLOAD_LABEL] ?? '',
    ...toTemplate(metadata),
    isEnding,
    readySinceMs:
      ready?.status === 'True' && !isEnding
        ? Date.parse(ready.lastTransitionTime ?? '') || 0
        : undefined,
    unscheduled: scheduled?.status === 'False' ? (scheduled.message ?? '') : undefined,
    restarts: container?.restartCount ?? 0,
    waiting: waiting && { reason: waiting.reason ?? '', message: waiting.message ?? '' },
    isRunning: running != null,
    ended: ended && {
      reason: ended.reason ?? '',
      exitCode: ended.exitCode ?? 0,
      message: ended.message ?? '',
      ranMs: Date.parse(ended.finishedAt ?? '') - Date.parse(ended.startedAt ?? '') || 0,
    },
  }
}

/** Whether a pod is one of those a Deployment is to have. */
export function isManaged(deployment: Template, pod: Template): boolean {
  return (
    deployment.revision === pod.revision &&
    deployment.attempt === pod.attempt &&
    deployment.secret === pod.secret
  )
}

function toTemplate({ annotations = {} }: RawMetadata = {}): Template {
  return {
    revision: annotations[REVISION_ANNOTATION] ?? '',
    attempt: annotations[ATTEMPT_ANNOTATION],
    secret: annotations[SECRET_ANNOTATION] ?? '',
  }
}

function parseKey(text: string | undefined): WorkloadKey | undefined {
  try {
    const { namespace, name, version } = JSON.parse(text ?? '')
    const all = [namespace, name, version]
    return all.every((one) => typeof one === 'string') ? { namespace, name, version } : undefined
  } catch {
    return undefined
  }
}

interface RawMetadata {
  readonly name?: string
  readonly uid?: string
  readonly generation?: number
  readonly deletionTimestamp?: string | null
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface RawCondition {
  readonly type?: string
  readonly status?: string
  readonly reason?: string
  readonly message?: string
  readonly lastUpdateTime?: string
  readonly lastTransitionTime?: string
}

interface RawDeployment {
  readonly metadata?: RawMetadata
  readonly spec?: {
    readonly replicas?: number
    readonly template?: { readonly metadata?: RawMetadata }
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly conditions?: readonly RawCondition[]
  }
}

interface RawTerminated {
  readonly reason?: string
  readonly message?: string
  readonly exitCode?: number
  readonly startedAt?: string
  readonly finishedAt?: string
}

interface RawPod {
  readonly metadata?: RawMetadata
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly RawCondition[]
    readonly containerStatuses?: readonly {
      readonly name?: string
      readonly restartCount?: number
      readonly state?: {
        readonly waiting?: { readonly reason?: string; readonly message?: string }
        readonly running?: object
        readonly terminated?: RawTerminated
      }
      readonly lastState?: { readonly terminated?: RawTerminated }
    }[]
  }
}
