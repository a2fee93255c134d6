import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { signal } from './processes.ts'

/** A control group (cgroup v2). A process cannot leave it without write access to the hierarchy. */
export interface Cgroup {
  /** File that lets a process join the group with everything it starts, by writing `0` to it. */
  readonly procsFile: string
  /** Kills every process of the group and removes it. */
  readonly remove: () => Promise<void>
}

/** Subgroup that the server moves into before its own group can delegate controllers. */
export const SERVER_CGROUP = 'mx-server'
const REMOVE_POLL_MS = 20
const REMOVE_MAX_MS = 2000
/** Mount point and root of a cgroup v2 hierarchy in `/proc/self/mountinfo` (proc(5)). */
const HIERARCHY = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m

/** Returns the folder of the group to which this process belongs, or undefined without a cgroup v2 hierarchy. */
export function findCurrentCgroup(): string | undefined {
  try {
    const [, path] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))!
    const [, root, mount] = HIERARCHY.exec(readFileSync('/proc/self/mountinfo', 'utf8'))!
    const folder = join(mount!, relative(root!, path!))
    if (!existsSync(join(folder, 'cgroup.procs'))) return undefined
    return basename(folder) === SERVER_CGROUP ? dirname(folder) : folder
  } catch {
    return undefined
  }
}

/**
 * Returns the command prefix that starts a program in a group. The program does not start if it cannot enter the group.
 */
export function toEnterCommand({ procsFile }: Cgroup): readonly string[] {
  return ['/bin/sh', '-c', 'echo 0 > "$0" && unset PWD && exec "$@"', procsFile]
}

/** Returns the group folder of an instance or a build. */
export function toCgroupFolder(parent: string, id: string): string {
  return join(parent, `mx-${id}`)
}

/** Creates a group. @throws {Error} if the hierarchy is not writable. */
export function createCgroup(folder: string): Cgroup {
  // Moving a process also requires write access to the group above both.
  accessSync(join(dirname(folder), 'cgroup.procs'), constants.W_OK)
  mkdirSync(folder)
  return openCgroup(folder)
}

/** Calls {@link createCgroup} below the server's own group. Returns undefined if this is not possible. */
export function tryCreateCgroup(parent: string | undefined, id: string): Cgroup | undefined {
  try {
    return parent === undefined ? undefined : createCgroup(toCgroupFolder(parent, id))
  } catch {
    return undefined
  }
}

/** Kills processes that a killed server left in the groups with these ids. Returns their pids. */
export async function removeCgroups(
  parent: string | undefined,
  ids: readonly string[],
): Promise<readonly number[]> {
  if (parent === undefined) return []
  const folders = ids.map((id) => toCgroupFolder(parent, id)).filter((folder) => existsSync(folder))
  const pids = folders.flatMap(listPids)
  await Promise.all(folders.map((folder) => openCgroup(folder).remove()))
  return pids
}

function openCgroup(folder: string): Cgroup {
  return {
    procsFile: join(folder, 'cgroup.procs'),
    async remove() {
      for (let waitedMs = 0; waitedMs < REMOVE_MAX_MS; waitedMs += REMOVE_POLL_MS) {
        try {
          return removeFolders(folder)
        } catch {
          killAll(folder)
          await delay(REMOVE_POLL_MS)
        }
      }
    },
  }
}

/** Removes a group with its subgroups. @throws {Error} if one of them has processes. */
function removeFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeFolders(join(folder, entry.name))
  rmdirSync(folder)
}

function killAll(folder: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.kill'), '1')
  } catch {
    // The file does not exist before Linux 5.14.
    for (const pid of listPids(folder)) signal(pid, 'SIGKILL')
  }
}

function listPids(folder: string): readonly number[] {
  try {
    const text = readFileSync(join(folder, 'cgroup.procs'), 'utf8')
    return text.split('\n').filter(Boolean).map(Number)
  } catch {
    // The group has been removed in the meantime.
    return []
  }
}
