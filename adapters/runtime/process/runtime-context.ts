import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { Isolation } from '../../../lib/process/sandbox/sandbox.ts'
import type { Watchdog } from '../../../lib/process/watchdog.ts'
import type { OpenCgroup } from './cgroups.ts'
import type { InstanceRegistrar } from './instance-registrar.ts'
import type { Confine } from './limits.ts'
import type { LogFiles, LogRetention } from './logs/log-files.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** Limits and timeouts of instances, in milliseconds. */
export interface ProcessLimits {
  /** Time limit for an instance to become ready. @default 60000 */
  readonly startMs: number
  /** Time limit for an instance to finish its calls before it is killed. @default 15000 */
  readonly drainMs: number
  /** First and maximum restart pause. @default 1000 and 60000 */
  readonly pauseMinMs: number
  readonly pauseMaxMs: number
  /** Time an instance must be ready before its failures are reset. @default 60000 */
  readonly steadyMs: number
  /** Maximum number of processes of an instance. @default 512 */
  readonly processes: number
  /** Log retention of a workload. @default 4 files of 8 MiB */
  readonly log: LogRetention
}

/** Dependencies shared by all instances. */
export interface RuntimeContext {
  readonly instancesFolder: string
  readonly registrar: InstanceRegistrar
  readonly log: RuntimeLog
  readonly limits: ProcessLimits
  readonly watchdog: Watchdog
  readonly confine: Confine
  readonly isolation: Promise<Isolation>
  readonly openCgroup: OpenCgroup
  /** File descriptors of the server that programs must not inherit. */
  readonly hiddenFiles: readonly number[]
  readonly openLog: (key: WorkloadKey) => LogFiles
}
