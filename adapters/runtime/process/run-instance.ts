import { randomBytes } from 'node:crypto'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { settlesWithin, untilAborted } from '../../../lib/async/timeout.ts'
import { killByEnv } from '../../../lib/process/kill-by-env.ts'
import { followTree, killTree } from '../../../lib/process/kill-tree.ts'
import { listUsers } from '../../../lib/process/sandbox/list-users.ts'
import { selectSandbox } from '../../../lib/process/sandbox/select-sandbox.ts'
import type { InstanceCgroup } from './cgroups.ts'
import { endGroup } from './end-processes.ts'
import { toMark, toMountSource } from './environment.ts'
import { createInstanceFolder } from './instance-folders.ts'
import type { RegisteredInstance } from './instance-registrar.ts'
import { captureOutput } from './logs/capture-output.ts'
import { findPort, whenListening, whenUnused } from './ports.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { spawnInstance } from './spawn-instance.ts'

/** Control and callbacks of an instance. */
export interface InstanceLife {
  /** Stops the instance after draining its calls. */
  readonly stop: AbortSignal
  /** Called when the instance accepts calls. */
  readonly onReady: () => void
  /** Called when the instance was not ready in time. */
  readonly onLate: () => void
  /** Called when the instance accepts no more calls and is about to end. */
  readonly onLeaving: () => void
  /**
   * Called when the instance has ended by itself. The owner calls `leave` when its replacement is
   * ready.
   */
  readonly onFailed: (registration: RegisteredInstance) => void
}

type Child = Awaited<ReturnType<typeof spawnInstance>>

/** Maximum length of the last output line quoted in a failure. */
const LINE_MAX = 500
/** Maximum time in milliseconds for open calls to finish after deregistration, before SIGTERM. */
const CALLS_MS = 5000
const NO_MEMORY = 'was killed: memory limit exceeded'

/**
 * Runs one instance of a workload, from before its process starts until its process group, escaped
 * processes and files are removed.
 *
 * @returns the human-readable reason why it ended, with its last output line.
 */
export async function runInstance(
  workload: Workload,
  life: InstanceLife,
  context: RuntimeContext,
): Promise<string> {
  const instance = randomBytes(6).toString('hex')
  try {
    const folder = createInstanceFolder(context.instancesFolder, instance)
    const group = context.openCgroup(instance, workload.resources)
    try {
      const port = workload.protocol === 'http' ? await findPort(workload.port) : undefined
      const child = await spawnInstance(workload, { instance, folder, port, group }, context)
      folder.store(child.pid)
      return await superviseInstance({ child, workload, instance, port, group }, life, context)
    } finally {
      await group?.remove()
      await killByEnv([toMark(instance)], [toMountSource(instance)], listUsers([folder.home]))
      await folder.remove((await context.isolation).sandbox)
    }
  } catch (error) {
    return `could not be started: ${(error as Error).message}`
  }
}

interface RunningInstance {
  readonly child: Child
  readonly workload: Workload
  readonly instance: string
  /** Port to listen on. */
  readonly port: number | undefined
  /** Undefined if the hierarchy is not writable. */
  readonly group: InstanceCgroup | undefined
}

async function superviseInstance(
  copy: RunningInstance,
  life: InstanceLife,
  context: RuntimeContext,
): Promise<string> {
  const { child, workload, instance, port, group } = copy
  const { registrar, limits, log, watchdog } = context
  const fields = { service: workload.name, namespace: workload.namespace, instance }
  const ending = new AbortController()
  const stopSignal = AbortSignal.any([life.stop, ending.signal])
  let failure: string | undefined
  let isExcessive = false
  let registration: RegisteredInstance | undefined

  const fail = (reason: string) => {
    failure ??= reason
    ending.abort()
  }
  const becomeReady = async () => {
    const timer = setTimeout(() => {
      life.onLate()
      fail(toLateness(limits.startMs, port))
    }, limits.startMs)
    try {
      if (port === undefined) await registrar.whenReady(workload, instance, stopSignal)
      else {
        const { namespace } = workload
        const userId = selectSandbox(await context.isolation, namespace)?.toUserId(namespace)
        const address = await whenListening(port, stopSignal, userId)
        registration = await registrar.register(workload, instance, address)
      }
      if (!stopSignal.aborted) life.onReady()
    } catch (error) {
      if (!stopSignal.aborted) fail(`could not be registered: ${(error as Error).message}`)
    } finally {
      clearTimeout(timer)
    }
  }

  const exit = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(toExit(code, signal)))
  })
  const output = captureOutput(child, instance, context.openLog(workload), () =>
    log.warn(fields, 'output exceeds the log rate limit; service throttled'),
  )
  const watch = watchdog.watch({
    pid: child.pid,
    memoryBytes: group?.isBounded === true ? undefined : workload.resources.memoryBytes,
    processes: limits.processes,
    onExcess: (what) => {
      isExcessive = true
      fail(what)
    },
  })
  const startup = becomeReady()
  const earlyExit = await untilAborted(exit, stopSignal)
  ending.abort()
  life.onLeaving()
  if (earlyExit === undefined && !isExcessive) {
    await settlesWithin(startup, limits.drainMs)
    if (registration !== undefined) await ignoreFailure(registration.leave(), limits.drainMs)
    // Programs without graceful shutdown end on SIGTERM while calls are in progress.
    if (port !== undefined) await whenUnused(port, Math.min(CALLS_MS, limits.drainMs))
    // Orphans can be found only by their group, so the descendants are listed before any signal is
    // sent.
    if (group === undefined) await watch.list()
    const followed = group === undefined && followTree(watch, exit)
    if (!(await endGroup(child.pid, exit, limits.drainMs)))
      log.warn(fields, `service killed: not ended ${limits.drainMs} ms after SIGTERM`)
    await followed
  } else {
    await endGroup(child.pid, exit, 0)
    if (registration !== undefined) {
      life.onFailed(registration)
      await ignoreFailure(registration.markFailed(), limits.drainMs)
    }
  }
  await killTree(watch)
  watch.end()
  // Until the registration expires, requests would be sent to the ended instance.
  if (port === undefined) await ignoreFailure(registrar.forget(workload, instance), limits.drainMs)
  await output.end()
  const reason = group?.ranOutOfMemory() ? NO_MEMORY : (failure ?? earlyExit ?? 'ended')
  const last = output
    .lastLine()
    .slice(0, LINE_MAX)
    .replace(/\p{Cc}/gu, ' ')
  return last === '' ? reason : `${reason}; last line: ${last}`
}

/** Ignores failures and delays of deregistration, for example during a registry outage. */
export async function ignoreFailure(done: Promise<void>, timeoutMs: number): Promise<void> {
  await settlesWithin(done, timeoutMs).catch(() => {})
}

function toExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `was terminated by ${signal}`
  return code === 0
    ? 'exited with code 0: a service must run until it is stopped'
    : `exited with code ${code}`
}

function toLateness(ms: number, port: number | undefined): string {
  return port === undefined
    ? `was not registered and healthy within ${ms / 1000} s; a plain HTTP program requires protocol http`
    : `did not listen on port ${port} (variable PORT) within ${ms / 1000} s`
}
