import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Resources } from '../../../core/contracts/runtime.ts'
import {
  type Cgroup,
  createCgroup,
  findCurrentCgroup,
  SERVER_CGROUP,
  toCgroupFolder,
  tryCreateCgroup,
} from '../../../lib/process/cgroup.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** The control group of an instance. */
export interface InstanceCgroup extends Cgroup {
  /** Whether the kernel enforces the limits of the instance. */
  readonly isBounded: boolean
  /** Returns whether a process was killed because the group reached its memory limit. */
  readonly ranOutOfMemory: () => boolean
}

/**
 * Creates the control group of an instance with its limits. Returns undefined if the hierarchy is
 * not writable.
 */
export type OpenCgroup = (instance: string, resources: Resources) => InstanceCgroup | undefined

const CONTROLLERS = ['cpu', 'memory']
/** Period of the CPU limit in microseconds, the kernel's default. */
const PERIOD_US = 100_000

/**
 * Creates a control group for each instance, so that none of its processes outlives it. The first
 * instance with limits prepares the server's own group. If the kernel cannot enforce limits, a
 * warning is logged once.
 *
 * @param folder control group of the server.
 */
export function createCgroups(
  log: RuntimeLog,
  folder: string | undefined = findCurrentCgroup(),
): OpenCgroup {
  let isPrepared = false
  let isLogged = false
  return (instance, resources) => {
    const hasLimits = resources.memoryBytes !== undefined || resources.cpus !== undefined
    if (hasLimits) {
      try {
        if (!isPrepared) prepare(folder)
        isPrepared = true
        return makeCgroup(toCgroupFolder(folder!, instance), resources)
      } catch (error) {
        const reason = (error as Error).message
        if (!isLogged)
          log.warn(
            { reason },
            'control groups with limits are unavailable: CPU time of services is not limited, and their memory is checked once per second',
          )
        isLogged = true
      }
    }
    const group = tryCreateCgroup(folder, instance)
    return group && { ...group, isBounded: false, ranOutOfMemory: () => false }
  }
}

/**
 * Enables the controllers for the groups of instances. Such a group must not contain processes, so
 * the server moves into a subgroup.
 *
 * @throws {Error} if the system does not allow it.
 */
function prepare(folder: string | undefined): void {
  if (folder === undefined) throw new Error('this machine does not support cgroup v2')
  const enabled = join(folder, 'cgroup.subtree_control')
  if (CONTROLLERS.every((name) => readWords(enabled).includes(name))) return
  if (readWords(join(folder, 'cgroup.procs')).join() !== String(process.pid))
    throw new Error(`${folder} has other processes`)
  const serverGroup = join(folder, SERVER_CGROUP)
  mkdirSync(serverGroup, { recursive: true })
  enter(serverGroup)
  try {
    writeFileSync(enabled, CONTROLLERS.map((name) => `+${name}`).join(' '))
  } catch (error) {
    enter(folder)
    throw error
  }
}

function enter(folder: string): void {
  writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
}

function makeCgroup(folder: string, { memoryBytes, cpus }: Resources): InstanceCgroup {
  const group = createCgroup(folder)
  const file = (name: string) => join(folder, name)
  try {
    if (memoryBytes !== undefined) {
      writeFileSync(file('memory.max'), String(memoryBytes))
      // The kernel kills the entire instance, because it would not work correctly without one of
      // its processes.
      writeFileSync(file('memory.oom.group'), '1')
    }
    if (cpus !== undefined)
      writeFileSync(file('cpu.max'), `${Math.round(cpus * PERIOD_US)} ${PERIOD_US}`)
  } catch (error) {
    void group.remove().catch(() => {})
    throw error
  }
  return {
    ...group,
    isBounded: true,
    ranOutOfMemory: () => /^oom_kill [1-9]/m.test(readText(file('memory.events'))),
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function readWords(file: string): readonly string[] {
  return readFileSync(file, 'utf8').split(/\s+/).filter(Boolean)
}
