import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { Isolation } from '../../../lib/process/sandbox/sandbox.ts'
import type { Watchdog } from '../../../lib/process/watchdog.ts'
import type { OpenCgroup } from './cgroups.ts'
import type { InstanceRegistrar } from './instance-registrar.ts'
import type { Confine } from './limits.ts'
import type { LogFiles, LogRoom } from './logs/log-files.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** Bounds of what the runtime runs, and its patience. */
export interface ProcessLimits {
  /** How long a copy may take to be ready. @default 60000 */
  readonly startMs: number
  /** How long a copy that is asked to end has for its calls before it is killed. @default 15000 */
  readonly drainMs: number
  /** First and longest pause before a copy is started again. @default 1000 and 60000 */
  readonly pauseMinMs: number
  readonly pauseMaxMs: number
  /** How long a copy must have been ready for its failures to be forgotten. @default 60000 */
  readonly steadyMs: number
  /** Processes of a copy, its children included. @default 512 */
  readonly processes: number
  /** How much is kept of the log of a workload. @default 4 files of 8 MiB */
  readonly log: LogRoom
}

/** What all copies share. */
export interface RuntimeContext {
  readonly copiesFolder: string
  readonly doors: InstanceRegistrar
  readonly log: RuntimeLog
  readonly limits: ProcessLimits
  readonly watchdog: Watchdog
  readonly confine: Confine
  readonly isolation: Promise<Isolation>
  readonly openCgroup: OpenCgroup
  /** Open files of the server, by number, that programs would get. */
  readonly hiddenFiles: readonly number[]
  readonly openLog: (key: WorkloadKey) => LogFiles
}
