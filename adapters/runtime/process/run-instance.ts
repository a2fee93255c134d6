import { randomBytes } from 'node:crypto'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { settlesWithin, untilAborted } from '../../../lib/async/timeout.ts'
import { killByEnv } from '../../../lib/process/kill-by-env.ts'
import { followTree, killTree } from '../../../lib/process/kill-tree.ts'
import { listUsers } from '../../../lib/process/sandbox/list-users.ts'
import type { InstanceCgroup } from './cgroups.ts'
import { endGroup } from './end-processes.ts'
import { toMark, toMountSource } from './environment.ts'
import { createInstanceFolder } from './instance-folders.ts'
import type { RegisteredInstance } from './instance-registrar.ts'
import { captureOutput } from './logs/capture-output.ts'
import { findPort, whenAnswers, whenUnused } from './ports.ts'
import type { RuntimeContext } from './runtime-context.ts'
import { spawnInstance } from './spawn-instance.ts'

/** What a copy is told, and tells. */
export interface InstanceLife {
  /** Asks it to end: its calls first. */
  readonly stop: AbortSignal
  /** It takes calls. */
  readonly onReady: () => void
  /** It takes none any more, and is about to end. */
  readonly onLeaving: () => void
  /** It has ended by itself: how it is told that another one comes, until the owner has it leave. */
  readonly onFallen: (door: RegisteredInstance) => void
}

type Child = Awaited<ReturnType<typeof spawnInstance>>

/** Of the last line, in what is told of a failure. */
const LINE_MAX = 500
/** How long the calls of a copy that left may take until it is asked to end. */
const CALLS_MS = 5000
const NO_MEMORY = 'was killed: it took more memory than it may'

/**
 * Runs one copy of a workload, from before its process is there until nothing is left of it: its group, what left the group, its
 * files.
 *
 * @returns how it ended, with the last line it wrote: for people.
 */
export async function runInstance(
  workload: Workload,
  life: InstanceLife,
  world: RuntimeContext,
): Promise<string> {
  const instance = randomBytes(6).toString('hex')
  try {
    const folder = createInstanceFolder(world.copiesFolder, instance)
    const group = world.openCgroup(instance, workload.resources)
    try {
      const port = workload.protocol === 'http' ? await findPort(workload.port) : undefined
      const child = await spawnInstance(workload, { instance, folder, port, group }, world)
      folder.note(child.pid)
      return await attend({ child, workload, instance, port, group }, life, world)
    } finally {
      await group?.remove()
      await killByEnv([toMark(instance)], [toMountSource(instance)], listUsers([folder.home]))
      await folder.remove((await world.isolation).sandbox)
    }
  } catch (error) {
    return `could not be run: ${(error as Error).message}`
  }
}

interface Copy {
  readonly child: Child
  readonly workload: Workload
  readonly instance: string
  /** Where it was told to listen. */
  readonly port: number | undefined
  /** Undefined: the hierarchy is not writable. */
  readonly group: InstanceCgroup | undefined
}

async function attend(copy: Copy, life: InstanceLife, world: RuntimeContext): Promise<string> {
  const { child, workload, instance, port, group } = copy
  const { doors, limits, log, watchdog } = world
  const about = { service: workload.name, namespace: workload.namespace, instance }
  const ending = new AbortController()
  const over = AbortSignal.any([life.stop, ending.signal])
  let failure: string | undefined
  let isExcessive = false
  let door: RegisteredInstance | undefined

  const fail = (how: string) => {
    failure ??= how
    ending.abort()
  }
  const becomeReady = async () => {
    const late = setTimeout(() => fail(toLateness(limits.startMs, port)), limits.startMs)
    try {
      if (port === undefined) await doors.whenReady(workload, instance, over)
      else door = await doors.register(workload, instance, await whenAnswers(port, over))
      if (!over.aborted) life.onReady()
    } catch (error) {
      if (!over.aborted) fail(`could not be registered: ${(error as Error).message}`)
    } finally {
      clearTimeout(late)
    }
  }

  const exit = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(toExit(code, signal)))
  })
  const output = captureOutput(child, instance, world.openLog(workload), () =>
    log.warn(about, 'it writes more than its log takes, and is slowed down'),
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
  const readying = becomeReady()
  const early = await untilAborted(exit, over)
  ending.abort()
  life.onLeaving()
  if (early === undefined && !isExcessive) {
    await settlesWithin(readying, limits.drainMs)
    if (door !== undefined) await inTime(door.leave(), limits.drainMs)
    // Programs that know nothing of being drained end at SIGTERM, whatever they are about.
    if (port !== undefined) await whenUnused(port, Math.min(CALLS_MS, limits.drainMs))
    // What is no descendant any more once its parent ended is found in the group alone: look before anything is signalled.
    if (group === undefined) await watch.list()
    const followed = group === undefined && followTree(watch, exit)
    if (!(await endGroup(child.pid, exit, limits.drainMs)))
      log.warn(about, `it did not end within ${limits.drainMs} ms of SIGTERM, and was killed`)
    await followed
  } else {
    await endGroup(child.pid, exit, 0)
    if (door !== undefined) {
      life.onFallen(door)
      await inTime(door.fall(), limits.drainMs)
    }
  }
  await killTree(watch)
  watch.end()
  // Requests would be tried there until its registration expires.
  if (port === undefined) await inTime(doors.forget(workload, instance), limits.drainMs)
  await output.end()
  const how = group?.ranOutOfMemory() ? NO_MEMORY : (failure ?? early ?? 'ended')
  const last = output
    .lastLine()
    .slice(0, LINE_MAX)
    .replace(/\p{Cc}/gu, ' ')
  return last === '' ? how : `${how}; its last line: ${last}`
}

/** Calls that take too long, or a registry that is away, do not keep it. */
export async function inTime(done: Promise<void>, timeoutMs: number): Promise<void> {
  await settlesWithin(done, timeoutMs).catch(() => {})
}

function toExit(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `was ended by ${signal}`
  return code === 0
    ? 'ended with exit code 0: a service goes on until it is asked to end'
    : `ended with exit code ${code}`
}

function toLateness(ms: number, port: number | undefined): string {
  return port === undefined
    ? `was not registered and healthy within ${ms / 1000} s; a program that serves plain HTTP has to be run with protocol http`
    : `took no connections at port ${port}, which PORT tells it, within ${ms / 1000} s`
}
