import type { Maybe } from '../../lib/async/maybe.ts'

/** States of a workload and their numbers on the wire (reference 7.2). */
export const RUNTIME_STATUS = {
  unknown: 0,
  pending: 1,
  building: 2,
  starting: 3,
  running: 4,
  stopping: 5,
  stopped: 6,
  error: 7,
} as const

export type RuntimeStatus = keyof typeof RUNTIME_STATUS

/** Unique key of a workload. */
export interface WorkloadKey {
  readonly namespace: string
  /** Name of the runtime object: argument of `kill`, `logs` and `update`. */
  readonly name: string
  /** Reference that it was deployed with. */
  readonly version: string
}

/** A program to run: local files or an image. */
export type Program =
  | {
      readonly kind: 'process'
      /** Absolute path of the build. Must not change while an instance runs. */
      readonly folder: string
      /** Complete build that contains `folder`. @default folder */
      readonly root?: string
      /** Further folders that the program reads, such as installed packages. */
      readonly shared?: readonly string[]
      /** Program and arguments; a program with a slash is relative to the folder, others are searched in `PATH`. */
      readonly command: readonly string[]
    }
  | {
      readonly kind: 'image'
      readonly image: string
      /** Overrides the entrypoint of the image. */
      readonly command?: readonly string[]
      readonly args?: readonly string[]
    }

/** Resource limits of an instance; undefined if none. */
export interface Resources {
  readonly memoryBytes?: number
  /** Cores, such as 0.5. */
  readonly cpus?: number
}

/** Desired state of a workload. */
export interface Workload extends WorkloadKey {
  /** Changes with any part of the workload: instances of an older revision are replaced, each once a new one is ready. */
  readonly revision: string
  readonly program: Program
  /** At least 1. */
  readonly instances: number
  /** Environment variables, except variables of a single instance. */
  readonly env: Readonly<Record<string, string>>
  readonly resources: Resources
  /** `mx`: it registers itself. `http`: the runtime registers it with the port that it passes in `PORT`. */
  readonly protocol: 'mx' | 'http'
  /** Port of an instance with protocol `http`, passed in `PORT`; undefined: the runtime assigns a port to each instance. */
  readonly port?: number
  /** The revision was ready before, perhaps under an earlier server: it is restarted without limit. @default false, five consecutive failures end it */
  readonly wasReady?: boolean
}

/** Observed state of a workload. */
export interface WorkloadState extends WorkloadKey {
  /** Revision that serves, or starts while none does; empty if none yet. */
  readonly revision: string
  readonly status: RuntimeStatus
  /** Cause of status `error`, or of a failed start of the last revision, with exit status and last log line; undefined: no error. */
  readonly error?: string
  /** Missing resource that instances wait for, such as capacity on a node, if the scheduler reports it; undefined if none. */
  readonly waiting?: string
  /** Number of ready instances. */
  readonly ready: number
  /** Unix time in milliseconds when it was last ready; undefined: never. */
  readonly startedMs?: number
  /** Consecutive failures. */
  readonly retries: number
  /** Restarts of instances of the revision; undefined if none. */
  readonly restarts?: number
  /** How an instance last failed, with the last line of its log; it may be healthy since. */
  readonly lastFailure?: string
}

/** A line of output of an instance. */
export interface LogLine {
  /** Unix time in milliseconds. */
  readonly timestampMs: number
  readonly instance: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

export interface LogQuery {
  /** Number of last stored lines; undefined for all. */
  readonly lines?: number
  /** Only lines since then, Unix time in milliseconds. */
  readonly sinceMs?: number
  /** Whether to continue with new lines until the signal. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/**
 * Runs workloads: restarts them after failures with a back-off of 1 s to 60 s; after 5 consecutive failures a workload is in error
 * until it is applied again (reference 15.24). Instances of an old revision are stopped once the new instances are ready; if the new revision
 * fails to start, the old one stays.
 */
export interface Runtime {
  readonly name: string
  /** Kind of programs that it runs. */
  readonly runs: Program['kind']
  /** `server`: workloads belong to this server; `cluster`: any server of the cluster may manage them. */
  readonly scope: 'server' | 'cluster'
  /** Creates or replaces a workload; `watch` and `read` return its progress. */
  readonly apply: (workload: Workload) => Maybe<void>
  /** Stops all instances and resolves once none runs. Unknown keys are ignored. */
  readonly remove: (key: WorkloadKey) => Maybe<void>
  readonly read: () => Maybe<readonly WorkloadState[]>
  /** Reports every change of a state, including removals with status `stopped`. */
  readonly watch: (listener: (state: WorkloadState) => void) => () => void
  /**
   * Calls `listener` when another client of the cluster deletes or changes parts of a workload; `apply` restores them. Absent if
   * there are no other clients.
   */
  readonly watchDrift?: (listener: (key: WorkloadKey) => void) => () => void
  /** Log lines of the instances, by time; they outlive instances, revisions and restarts of the server, within a size limit. */
  readonly logs: (key: WorkloadKey, query: LogQuery) => AsyncIterable<LogLine>
  /** Stops workloads that depend on this process; others keep running. */
  readonly close: () => Promise<void>
}
