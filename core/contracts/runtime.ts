import type { Maybe } from '../../lib/async/maybe.ts'

/** States of what runs, each with its number on the wire (reference 7.2). */
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

/** What tells one workload from others. */
export interface WorkloadKey {
  readonly namespace: string
  /** Of the runtime object: what `kill`, `logs` and `update` take. */
  readonly name: string
  /** The reference it was run with. */
  readonly version: string
}

/** Something that is there to be run: files of this machine, or an image. */
export type Program =
  | {
      readonly kind: 'process'
      /** Absolute; what was built. It stays as it is as long as a copy of it runs. */
      readonly folder: string
      /** The whole build that `folder` is part of, which belongs to the program. @default folder */
      readonly root?: string
      /** Further folders the program reads, such as installed packages. */
      readonly shared?: readonly string[]
      /** Program and arguments; a program with a slash in it is one of the folder, others are looked up in `PATH`. */
      readonly command: readonly string[]
    }
  | {
      readonly kind: 'image'
      readonly image: string
      /** In place of what the image runs. */
      readonly command?: readonly string[]
      readonly args?: readonly string[]
    }

/** What one copy may take; undefined: as much as there is. */
export interface Resources {
  readonly memoryBytes?: number
  /** Cores, such as 0.5. */
  readonly cpus?: number
}

/** What is to run. */
export interface Workload extends WorkloadKey {
  /** Another one whenever anything of it changes: copies of an older one are replaced, each once a new one is ready. */
  readonly revision: string
  readonly program: Program
  /** Copies; at least 1. */
  readonly instances: number
  /** Everything a copy is told, but for what is a copy's own. */
  readonly env: Readonly<Record<string, string>>
  readonly resources: Resources
  /** `mx`: it registers itself. `http`: the runtime registers it, at the port it tells it in `PORT`. */
  readonly protocol: 'mx' | 'http'
  /** Where a copy of protocol `http` listens, told in `PORT`; undefined: where the runtime says, a port for each copy. */
  readonly port?: number
  /** The revision was ready before, perhaps under an earlier server: it is restarted for ever. @default false, five failures in a row end it */
  readonly wasReady?: boolean
}

/** How a workload is. */
export interface WorkloadState extends WorkloadKey {
  /** The revision that serves, or comes up while none does; empty: none yet. */
  readonly revision: string
  readonly status: RuntimeStatus
  /** Why it is in error, or why the last revision that was asked for did not come up, with the last line of its log and how it exited; undefined: nothing went wrong. */
  readonly error?: string
  /** What copies wait for that Kubernetes or another scheduler cannot give them yet, such as room on a node; undefined: nothing is known. */
  readonly waiting?: string
  /** Copies that are ready. */
  readonly ready: number
  /** Unix time in milliseconds, of when it was ready last; undefined: never. */
  readonly startedMs?: number
  /** Failures in a row. */
  readonly retries: number
  /** Times copies of the revision were started again, however long they had run; undefined: never. */
  readonly restarts?: number
  /** How one of them ended last, with its last line; it may run well since. */
  readonly lastFailure?: string
}

/** A line that a copy wrote. */
export interface LogLine {
  /** Unix time in milliseconds. */
  readonly timestampMs: number
  readonly instance: string
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

export interface LogQuery {
  /** The last so many lines of what is there; 0: none, undefined: all. */
  readonly lines?: number
  /** Only lines since then, Unix time in milliseconds. */
  readonly sinceMs?: number
  /** Whether to go on with what is written from now on, until the signal. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/**
 * Runs workloads and keeps them running: started again with a growing pause after a failure (1 s to 60 s), in error after 5
 * failures in a row until it is applied again (reference 15.24). Of a new revision every copy is ready before an old one is
 * asked to end; where it does not come up the old one stays.
 */
export interface Runtime {
  readonly name: string
  /** Which programs it runs. */
  readonly runs: Program['kind']
  /** Where workloads are: of this server alone, or of a cluster, where any server that uses it may act on them. */
  readonly scope: 'server' | 'cluster'
  /** Takes a workload in, in place of what runs under its key; what comes of it is told by `watch` and `read`. */
  readonly apply: (workload: Workload) => Maybe<void>
  /** Ends every copy; done once none runs. A key that is not there does not matter. */
  readonly remove: (key: WorkloadKey) => Maybe<void>
  readonly read: () => Maybe<readonly WorkloadState[]>
  /** Tells every change of a state, of those that are removed as well: status `stopped`. */
  readonly watch: (listener: (state: WorkloadState) => void) => () => void
  /**
   * Calls `listener` when another client of the cluster deletes or changes parts of a workload; `apply` restores them. Absent if
   * there are no other clients.
   */
  readonly watchDrift?: (listener: (key: WorkloadKey) => void) => () => void
  /** Lines of the copies, in order of time; they outlive copies, revisions and restarts of the server, as far as there is room. */
  readonly logs: (key: WorkloadKey, query: LogQuery) => AsyncIterable<LogLine>
  /** Ends what this process alone keeps running; nothing where workloads live elsewhere. */
  readonly close: () => Promise<void>
}
