import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeCgroups } from '../../../lib/process/cgroup.ts'
import { killByEnv } from '../../../lib/process/kill-by-env.ts'
import { readProcess, signal } from '../../../lib/process/processes.ts'
import { listUsers } from '../../../lib/process/sandbox/list-users.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import type { Sandbox } from '../../../lib/process/sandbox/sandbox.ts'
import { toMark, toMountSource } from './environment.ts'

/** What a copy has of its own on the disk, as long as it runs. */
export interface InstanceFolder {
  readonly path: string
  readonly home: string
  readonly temp: string
  /** Lets another user have the home and the temporary folder. */
  readonly giveTo: (userId: number) => void
  /** Notes which process it is, for a server that comes after this one was killed. */
  readonly note: (pid: number) => void
  readonly remove: (sandbox: Sandbox | undefined) => Promise<void>
}

const NOTE = 'process'

/** Makes the folder of a copy: it is there before the process is, so that none is missed. */
export function createInstanceFolder(parent: string, instance: string): InstanceFolder {
  const folder = join(parent, instance)
  const home = toHome(folder)
  const temp = join(folder, 'tmp')
  for (const made of [home, temp]) mkdirSync(made, { recursive: true, mode: 0o700 })
  return {
    path: folder,
    home,
    temp,
    giveTo(userId) {
      chmodSync(folder, 0o711)
      for (const given of [home, temp]) chownSync(given, userId, userId)
    },
    note(pid) {
      const start = readProcess(pid)?.start ?? ''
      writeFileSync(join(folder, NOTE), JSON.stringify({ pid, start, boot: readBoot() }))
    },
    remove: (sandbox) => tryRemove(folder, sandbox),
  }
}

/**
 * Ends what a server that was killed left running, known by the folders it left: processes with the mark of such a copy, the one
 * that was noted, with its group, and those of its user that left its view.
 *
 * @param cgroup folder of the server's own control group. @default there is none
 * @param sandbox that the copies ran in. @default none
 * @returns how many processes were ended, those of a group as one.
 * @throws {Error} when some do not end: they must not run twice.
 */
export async function endLeftoverInstances(
  parent: string,
  cgroup?: string,
  sandbox?: Sandbox,
): Promise<number> {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const instances = await readdir(parent)
  const noted = instances.flatMap((instance) => killNoted(join(parent, instance)) ?? [])
  const grouped = await removeCgroups(cgroup, instances)
  const users = listUsers(instances.map((instance) => toHome(join(parent, instance))))
  const marked = await killByEnv(instances.map(toMark), instances.map(toMountSource), users)
  await Promise.all(instances.map((instance) => tryRemove(join(parent, instance), sandbox)))
  return new Set([...noted, ...grouped, ...marked]).size
}

function toHome(folder: string): string {
  return join(folder, 'home')
}

/** The process that is noted in the folder, where it still ran. */
function killNoted(folder: string): number | undefined {
  const { pid, start, boot } = readNote(folder)
  if (pid === undefined || boot !== readBoot() || readProcess(pid)?.start !== start) return
  signal(-pid, 'SIGKILL')
  return pid
}

function readNote(folder: string): { pid?: number; start?: string; boot?: string } {
  try {
    return JSON.parse(readFileSync(join(folder, NOTE), 'utf8'))
  } catch {
    // Killed before it wrote any: the mark is all there is.
    return {}
  }
}

/** Which start of the machine this is; empty where it does not tell. */
function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return ''
  }
}

/** A program that just ended may have left files that are not to be removed, or too many: that is no failure of anything. */
async function tryRemove(folder: string, sandbox: Sandbox | undefined): Promise<void> {
  await removeFolder(folder, sandbox).catch(() => {})
}
