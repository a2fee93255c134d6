import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import {
  ATTEMPT_ANNOTATION,
  CONTAINER,
  KEY_ANNOTATION,
  REVISION_ANNOTATION,
  SECRET_ANNOTATION,
} from './manifests.ts'
import { WORKLOAD_LABEL } from './names.ts'

/** Revision and attempt that a pod runs, or that the pods of a Deployment should run. */
export interface Template {
  readonly revision: string
  /** Attempt of the revision; undefined for the first. */
  readonly attempt: string | undefined
  readonly secret: string
}

/** Subset of a Deployment (apps/v1) that is used here. */
export interface Deployment extends Template {
  readonly key: WorkloadKey
  readonly uid: string
  /** Generation of the spec. */
  readonly generation: number
  readonly instances: number
  /** Whether the Deployment is being deleted. */
  readonly isEnding: boolean
  /** Time at which the rollout of this revision completed, Unix time in milliseconds. */
  readonly settledMs: number | undefined
  /** Reason why pods cannot be created. */
  readonly failure: string | undefined
  /** Whether the rollout exceeded its deadline. */
  readonly isLate: boolean
}

/** Subset of a Pod (core/v1) that is used here. */
export interface Pod extends Template {
  readonly name: string
  /** Workload id. */
  readonly workload: string
  /** Whether the pod is being deleted or was ended by the cluster, for example evicted. */
  readonly isEnding: boolean
  /** Time since which the pod has been ready, Unix time in milliseconds. */
  readonly readySinceMs: number | undefined
  /**
   * Reason why the pod cannot be scheduled. Undefined if it has been scheduled or scheduling has
   * not been tried.
   */
  readonly unscheduled: string | undefined
  readonly restarts: number
  /** State of the pod's container. */
  readonly waiting: Waiting | undefined
  readonly isRunning: boolean
  /** Current or last exit. */
  readonly ended: Ended | undefined
}

export interface Waiting {
  readonly reason: string
  readonly message: string
}

export interface Ended {
  readonly reason: string
  readonly exitCode: number
  /** Last output. */
  readonly message: string
  /** Runtime in milliseconds. */
  readonly ranMs: number
}

/** Final phases of pods. */
const FINAL_PHASES: ReadonlySet<string> = new Set(['Failed', 'Succeeded'])

/** Returns undefined for a Deployment that was not created by mx. */
export function toDeploymentState(object: unknown): Deployment | undefined {
  const { metadata, spec, status } = object as RawDeployment
  const key = parseKey(metadata?.annotations?.[KEY_ANNOTATION])
  if (key === undefined) return undefined
  const generation = metadata?.generation ?? 0
  const isObserved = (status?.observedGeneration ?? 0) >= generation
  const find = (type: string): RawCondition | undefined =>
    isObserved ? status?.conditions?.find((condition) => condition.type === type) : undefined
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
  const isEnding = metadata?.deletionTimestamp != null || FINAL_PHASES.has(status?.phase ?? '')
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

/** Returns whether a pod runs the current template of a Deployment. */
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
    return all.every((part) => typeof part === 'string') ? { namespace, name, version } : undefined
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
