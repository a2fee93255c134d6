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
  /**
   * Folder for logs and for the files of running instances; created if missing. Only one runtime
   * may use it at a time.
   */
  readonly folder: string
  /** Registry operations for instances. */
  readonly registrar: InstanceRegistrar
  readonly log: RuntimeLog
  /** Isolation of programs. @default none; programs run as the server's user */
  readonly isolation?: Promise<Isolation>
  /** Control group folder of the server. @default {@link findCurrentCgroup} */
  readonly cgroupFolder?: string
  /** Overrides for the defaults of {@link ProcessLimits}. */
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
const WATCHDOG_MS = 1000
/** Maximum length of a folder name. */
const NAME_MAX = 180

/**
 * Runs workloads as processes on this machine. Each instance has its own process group and ends
 * with this process. Processes left over from a killed server are ended before any workload starts
 * (docs/runtime.md).
 */
export function createProcessRuntime(options: ProcessRuntimeOptions): Runtime {
  const { folder, registrar, log } = options
  const instancesFolder = join(folder, 'copies')
  const workloads = new Map<string, Supervised>()
  const logs = new Map<string, LogFiles>()
  const emitted = new Map<string, string>()
  const listeners = new Set<(state: WorkloadState) => void>()
  /** Last operation of each workload. Operations run in order. */
  const operations = new Map<string, Promise<void>>()
  let isClosed = false
  const cgroup = options.cgroupFolder ?? findCurrentCgroup()

  const context: RuntimeContext = {
    instancesFolder,
    registrar,
    log,
    limits: { ...LIMITS, ...options.limits },
    watchdog: createWatchdog(WATCHDOG_MS),
    confine: findConfinement(log),
    isolation: options.isolation ?? Promise.resolve(NOT_ISOLATED),
    openCgroup: createCgroups(log, cgroup),
    hiddenFiles: listInheritedFiles(),
    openLog,
  }
  let recovered: Promise<void> | undefined

  const endLeftover = async () =>
    endLeftoverInstances(instancesFolder, cgroup, (await context.isolation).sandbox)

  /** Runs before any workload starts. After a failure, the next `apply` retries. */
  function recover(): Promise<void> {
    recovered ??= endLeftover().then(
      (count) => {
        if (count > 0) log.warn({ count }, 'ended processes left over from an earlier server')
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
    const opened = openLogFiles(toLogFolder(key), context.limits.log, (error) =>
      log.warn(
        { err: error, service, namespace, version },
        'service log write failed, dropping lines',
      ),
    )
    logs.set(name, opened)
    return opened
  }

  function emit(state: WorkloadState): void {
    const name = toName(state)
    const text = JSON.stringify(state)
    if (emitted.get(name) === text) return
    emitted.set(name, text)
    for (const listener of listeners) listener(state)
  }

  function enqueue(key: WorkloadKey, run: () => Maybe<void>): Promise<void> {
    const name = toName(key)
    const done = (operations.get(name) ?? Promise.resolve()).then(run)
    const settled = done
      .catch(() => {})
      .then(() => {
        if (operations.get(name) === settled) operations.delete(name)
      })
    operations.set(name, settled)
    return done
  }

  recover().catch((error) => log.warn({ err: error }, 'recovery failed; services are not started'))

  return {
    name: 'process',
    runs: 'process',
    scope: 'server',

    apply: (workload) =>
      enqueue(workload, async () => {
        await recover()
        if (isClosed) throw new Error('the runtime is closed')
        const name = toName(workload)
        const running = workloads.get(name)
        if (running !== undefined) return running.apply(workload)
        const onChange = () => {
          const supervised = workloads.get(name)
          if (supervised !== undefined) emit(supervised.state())
        }
        const supervised = supervise(workload, onChange, context)
        workloads.set(name, supervised)
        onChange()
      }),

    remove: (key) =>
      enqueue(key, async () => {
        const name = toName(key)
        const supervised = workloads.get(name)
        await supervised?.stop()
        await logs.get(name)?.close()
        logs.delete(name)
        await rm(toLogFolder(key), { recursive: true, force: true })
        workloads.delete(name)
        if (supervised !== undefined) emit({ ...supervised.state(), status: 'stopped' })
        emitted.delete(name)
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

/** Returns the folder name of a workload, which is unique and valid for any key. */
function toName({ namespace, name, version }: WorkloadKey): string {
  const text = encodeURIComponent(JSON.stringify([namespace, name, version]))
  if (text.length <= NAME_MAX) return text
  return `${text.slice(0, NAME_MAX)}-${createHash('sha256').update(text).digest('hex')}`
}
