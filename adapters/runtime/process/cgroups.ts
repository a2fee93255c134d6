import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Resources } from '../../../core/contracts/runtime.ts'
import type { RuntimeLog } from './world.ts'

/** A control group (cgroup v2) of one copy: the kernel keeps what is in it within its bounds. */
export interface Cgroup {
  /** File that a process writes `0` to, to be in it with all it begins. */
  readonly entrance: string
  /** Whether something of it was killed because it had no memory left. */
  readonly ranOutOfMemory: () => boolean
  /** Kills what is in it, wherever that went, and removes it. */
  readonly remove: () => Promise<void>
}

/** Makes the group of a copy; undefined: nothing bounds it, or nothing here can. */
export type OpenCgroup = (instance: string, resources: Resources) => Cgroup | undefined

type MakeCgroup = (instance: string, resources: Resources) => Cgroup

const ROOT = '/sys/fs/cgroup'
const CONTROLLERS = ['cpu', 'memory']
const SERVER = 'mx-server'
/** How much CPU time is shared out at once, microseconds: the kernel's own default. */
const PERIOD_US = 100_000
const REMOVE_POLL_MS = 20
const REMOVE_MAX_MS = 2000

/** The group this process is in, as a folder; undefined where the machine has no such hierarchy. */
function findOwnCgroup(): string | undefined {
  try {
    const [, path] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))!
    const folder = join(ROOT, path!)
    readWords(join(folder, 'cgroup.controllers'))
    return folder
  } catch {
    return undefined
  }
}

/**
 * Opens groups for copies that have bounds. The first of them prepares the server's own group; where that cannot be done, it is
 * told once, and other means have to do.
 *
 * @param folder of the group the server is in.
 */
export function createCgroups(
  log: RuntimeLog,
  folder: string | undefined = findOwnCgroup(),
): OpenCgroup {
  let make: MakeCgroup | undefined
  let isTold = false
  return (instance, resources) => {
    if (resources.memoryBytes === undefined && resources.cpus === undefined) return undefined
    try {
      make ??= prepare(folder)
      return make(instance, resources)
    } catch (error) {
      const why = (error as Error).message
      if (!isTold)
        log.warn(
          { why },
          'no control groups: services take what CPU time they get, and their memory is looked at once a second',
        )
      isTold = true
      return undefined
    }
  }
}

/**
 * Prepares a group for those of copies: a group that hands bounds down has no process of its own, so that the server moves into
 * one beside them, where it is alone.
 *
 * @throws {Error} where the system does not let it.
 */
function prepare(folder: string | undefined): MakeCgroup {
  if (folder === undefined) throw new Error('this machine has no cgroup v2 with controllers')
  const enabled = join(folder, 'cgroup.subtree_control')
  if (!CONTROLLERS.every((name) => readWords(enabled).includes(name))) {
    if (readWords(join(folder, 'cgroup.procs')).join() !== String(process.pid))
      throw new Error(`${folder} has other processes`)
    const own = join(folder, SERVER)
    mkdirSync(own, { recursive: true })
    enter(own)
    try {
      writeFileSync(enabled, CONTROLLERS.map((name) => `+${name}`).join(' '))
    } catch (error) {
      enter(folder)
      throw error
    }
  }
  return (instance, resources) => makeCgroup(join(folder, `mx-${instance}`), resources)
}

function enter(folder: string): void {
  writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
}

/** Makes a group with the bounds of a copy. Exported for its test. */
export function makeCgroup(folder: string, { memoryBytes, cpus }: Resources): Cgroup {
  const file = (name: string) => join(folder, name)
  mkdirSync(folder)
  try {
    if (memoryBytes !== undefined) {
      writeFileSync(file('memory.max'), String(memoryBytes))
      // All of a copy, or it goes on without what it needs.
      writeFileSync(file('memory.oom.group'), '1')
    }
    if (cpus !== undefined)
      writeFileSync(file('cpu.max'), `${Math.round(cpus * PERIOD_US)} ${PERIOD_US}`)
  } catch (error) {
    rmdirSync(folder)
    throw error
  }
  return {
    entrance: file('cgroup.procs'),
    ranOutOfMemory: () => /^oom_kill [1-9]/m.test(readText(file('memory.events'))),
    async remove() {
      writeFileSync(file('cgroup.kill'), '1')
      for (let waitedMs = 0; waitedMs < REMOVE_MAX_MS; waitedMs += REMOVE_POLL_MS) {
        try {
          return rmdirSync(folder)
        } catch {
          // What was killed is not gone yet.
          await delay(REMOVE_POLL_MS)
        }
      }
    },
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
