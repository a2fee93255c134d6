import type { Maybe } from '../../lib/async/maybe.ts'

/** States of a workload and their numbers in the protocol (reference 7.2). */
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
  /** Reference from which it was deployed. */
  readonly version: string
}

/** A program to run: local files or an image. */
export type Program =
  | {
      readonly kind: 'process'
      /** Absolute path of the build. It must not change while an instance is running. */
      readonly folder: string
      /** Complete build that contains `folder`. @default folder */
      readonly root?: string
      /** Further folders that the program reads, such as installed packages. */
      readonly shared?: readonly string[]
      /**
       * Program and arguments. A program path with a slash is relative to the folder; others are searched in `PATH`.
       */
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
  /** CPU cores, such as 0.5. */
  readonly cpus?: number
}

/** Desired state of a workload. */
export interface Workload extends WorkloadKey {
  /**
   * Changes with any part of the workload. Instances of an older revision are replaced one by one as new instances
   * become ready.
   */
  readonly revision: string
  readonly program: Program
  /** At least 1. */
  readonly instances: number
  /** Environment variables shared by all instances. */
  readonly env: Readonly<Record<string, string>>
  readonly resources: Resources
  /** `mx`: the program registers itself. `http`: the runtime registers it with the port that it passes in `PORT`. */
  readonly protocol: 'mx' | 'http'
  /**
   * Port of instances that use the `http` protocol, passed in `PORT`. If undefined, the runtime assigns a port to each
   * instance.
   */
  readonly port?: number
  /**
   * Whether the revision was ready before, perhaps in an earlier server process. Restarts are then unlimited. @default
   * false, at most five consecutive failures
   */
  readonly wasReady?: boolean
}

/** Observed state of a workload. */
export interface WorkloadState extends WorkloadKey {
  /** Serving revision, or the starting revision if none is serving; empty if none yet. */
  readonly revision: string
  readonly status: RuntimeStatus
  /**
   * Cause of status `error`, or of the last revision's failed start, with exit status and last log line; undefined if
   * none.
   */
  readonly error?: string
  /**
   * Missing resource that instances wait for, such as capacity on a node. Undefined if none, or not reported by the
   * scheduler.
   */
  readonly waiting?: string
  /** Number of ready instances. */
  readonly ready: number
  /** Unix time in milliseconds when it was last ready; undefined if never. */
  readonly startedMs?: number
  /** Consecutive failures. */
  readonly retries: number
  /** Number of restarts of the revision's instances; undefined if none. */
  readonly restarts?: number
  /** Last failure of an instance, with the last line of its log. The instance may have recovered since. */
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
  /** Number of most recent stored lines; undefined for all. */
  readonly lines?: number
  /** Only returns lines since this Unix time in milliseconds. */
  readonly sinceMs?: number
  /** Whether to stream new lines until the signal. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/**
 * Runs workloads and restarts them after failures with a back-off of 1 s to 60 s. After 5 consecutive failures a
 * workload has status `error` until it is applied again (reference 15.24). Instances of an old revision are stopped
 * once the new instances are ready. If the new revision fails to start, the old revision keeps running.
 */
export interface Runtime {
  readonly name: string
  /** Kind of programs that the runtime supports. */
  readonly runs: Program['kind']
  /** `server`: workloads belong to this server. `cluster`: any server of the cluster may manage them. */
  readonly scope: 'server' | 'cluster'
  /** Creates or replaces a workload. `watch` and `read` report its progress. */
  readonly apply: (workload: Workload) => Maybe<void>
  /** Stops all instances and resolves once all have stopped. Unknown keys are ignored. */
  readonly remove: (key: WorkloadKey) => Maybe<void>
  readonly read: () => Maybe<readonly WorkloadState[]>
  /** Calls `listener` for every state change, including removals with status `stopped`. */
  readonly watch: (listener: (state: WorkloadState) => void) => () => void
  /**
   * Calls `listener` when another client of the cluster deletes or changes parts of a workload; `apply` restores them.
   * Absent if the runtime has no other clients.
   */
  readonly watchDrift?: (listener: (key: WorkloadKey) => void) => () => void
  /**
   * Returns log lines of the instances ordered by time. Up to a size limit, they outlive instances, revisions and
   * server restarts.
   */
  readonly logs: (key: WorkloadKey, query: LogQuery) => AsyncIterable<LogLine>
  /** Stops workloads that depend on this process; others keep running. */
  readonly close: () => Promise<void>
}
