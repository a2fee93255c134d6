import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime, WorkloadKey, WorkloadState } from '../../core/contracts/runtime.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { findCurrentCgroup } from '../../lib/process/cgroup.ts'
import type { Isolation } from '../../lib/process/sandbox/sandbox.ts'
import { createWatchdog } from '../../lib/process/watchdog.ts'
import { createCgroups } from './process/cgroups.ts'
import { listInheritedFiles } from './process/inherited-files.ts'
import { endLeftoverInstances } from './process/instance-folders.ts'
import type { InstanceRegistrar } from './process/instance-registrar.ts'
import { findConfinement } from './process/limits.ts'
import { type LogFiles, openLogFiles } from './process/logs/log-files.ts'
import { readLog } from './process/logs/read-log.ts'
import type { ProcessLimits, RuntimeContext } from './process/runtime-context.ts'
import type { RuntimeLog } from './process/runtime-log.ts'
import { type Supervised, supervise } from './process/supervise.ts'

export interface ProcessRuntimeOptions {
  /** For logs, and for what copies have of their own while they run; made where it is missing. Of one runtime at a time. */
  readonly folder: string
  /** How the platform is asked about copies. */
  readonly doors: InstanceRegistrar
  readonly log: RuntimeLog
  /** Whether programs are isolated. @default they run as the user of the server */
  readonly isolation?: Promise<Isolation>
  /** Folder of the server's own control group. @default {@link findCurrentCgroup} */
  readonly cgroupFolder?: string
  /** In place of {@link ProcessLimits}' defaults. */
  readonly limits?: Partial<ProcessLimits>
}

const MIB = 1024 * 1024
const LIMITS: ProcessLimits = {
  startMs: 60_000,
  drainMs: 15_000,
  pauseMinMs: 1000,
  pauseMaxMs: 60_000,
  steadyMs: 60_000,
  processes: 512,
  log: { fileBytes: 8 * MIB, files: 4 },
}
const NOT_ISOLATED: Isolation = {
  sandbox: undefined,
  reason: 'isolation is not configured',
  isPrivileged: false,
}
const LOOK_MS = 1000
/** Of the name of a folder. */
const NAME_MAX = 180

/**
 * Runs workloads as processes of this machine: each copy leads a group of its own and ends with this process. What one that was
 * killed left running is ended before anything starts (docs/runtime.md).
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  const { folder, doors, log } = options
  const copiesFolder = join(folder, 'copies')
  const workloads = new Map<string, Supervised>()
  const logs = new Map<string, LogFiles>()
  const told = new Map<string, string>()
  const listeners = new Set<(state: WorkloadState) => void>()
  /** What was asked of a workload last: one thing after the other. */
  const asked = new Map<string, Promise<void>>()
  let isClosed = false
  const cgroup = options.cgroupFolder ?? findCurrentCgroup()

  const world: RuntimeContext = {
    copiesFolder,
    doors,
    log,
    limits: { ...LIMITS, ...options.limits },
    watchdog: createWatchdog(LOOK_MS),
    confine: findConfinement(log),
    isolation: options.isolation ?? Promise.resolve(NOT_ISOLATED),
    openCgroup: createCgroups(log, cgroup),
    hiddenFiles: listInheritedFiles(),
    openLog,
  }
  let recovered: Promise<void> | undefined

  const endLeft = async () =>
    endLeftoverInstances(copiesFolder, cgroup, (await world.isolation).sandbox)

  /** Before anything starts. What failed is tried again by whoever applies a workload next. */
  function recover(): Promise<void> {
    recovered ??= endLeft().then(
      (count) => {
        if (count > 0)
          log.warn({ count }, 'processes that a server before this one left were ended')
      },
      (error) => {
        recovered = undefined
        throw error
      },
    )
    return recovered
  }

  const toLogFolder = (key: WorkloadKey) => join(folder, 'logs', toName(key))

  function openLog(key: WorkloadKey): LogFiles {
    const name = toName(key)
    const open = logs.get(name)
    if (open !== undefined) return open
    const { namespace, name: service, version } = key
    const opened = openLogFiles(toLogFolder(key), world.limits.log, (error) =>
      log.warn({ err: error, service, namespace, version }, 'lines of its log are lost'),
    )
    logs.set(name, opened)
    return opened
  }

  function tell(state: WorkloadState): void {
    const name = toName(state)
    const text = JSON.stringify(state)
    if (told.get(name) === text) return
    told.set(name, text)
    for (const listener of listeners) listener(state)
  }

  function inOrder(key: WorkloadKey, run: () => Maybe<void>): Promise<void> {
    const name = toName(key)
    const done = (asked.get(name) ?? Promise.resolve()).then(run)
    const settled = done
      .catch(() => {})
      .then(() => {
        if (asked.get(name) === settled) asked.delete(name)
      })
    asked.set(name, settled)
    return done
  }

  recover().catch((error) => log.warn({ err: error }, 'no service is started'))

  return {
    name: 'process',
    runs: 'process',
    scope: 'server',

    apply: (workload) =>
      inOrder(workload, async () => {
        await recover()
        if (isClosed) throw new Error('the runtime is closed')
        const name = toName(workload)
        const running = workloads.get(name)
        if (running !== undefined) return running.apply(workload)
        const onChange = () => {
          const supervised = workloads.get(name)
          if (supervised !== undefined) tell(supervised.state())
        }
        const supervised = supervise(workload, onChange, world)
        workloads.set(name, supervised)
        onChange()
      }),

    remove: (key) =>
      inOrder(key, async () => {
        const name = toName(key)
        const supervised = workloads.get(name)
        await supervised?.stop()
        await logs.get(name)?.close()
        logs.delete(name)
        await rm(toLogFolder(key), { recursive: true, force: true })
        workloads.delete(name)
        if (supervised !== undefined) tell({ ...supervised.state(), status: 'stopped' })
        told.delete(name)
      }),

    read: () => [...workloads.values()].map((supervised) => supervised.state()),

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    logs: (key, query) => readLog(openLog(key), query),

    async close() {
      isClosed = true
      await recovered?.catch(() => {})
      await Promise.all([...workloads.values()].map((supervised) => supervised.stop()))
      await Promise.all([...logs.values()].map((files) => files.close()))
    },
  }
}

/** Of the files of a workload: whatever its parts are made of, it is one name of a folder, and no other workload's. */
function toName({ namespace, name, version }: WorkloadKey): string {
  const text = encodeURIComponent(JSON.stringify([namespace, name, version]))
  if (text.length <= NAME_MAX) return text
  return `${text.slice(0, NAME_MAX)}-${createHash('sha256').update(text).digest('hex')}`
}
