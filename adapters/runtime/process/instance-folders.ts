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

/** Files of a running instance. */
export interface InstanceFolder {
  readonly path: string
  readonly home: string
  readonly temp: string
  /** Makes another user the owner of the home and the temporary folder. */
  readonly changeOwner: (userId: number) => void
  /** Stores the process id for recovery after the server was killed. */
  readonly store: (pid: number) => void
  readonly remove: (sandbox: Sandbox | undefined) => Promise<void>
}

const PROCESS_FILE = 'process'

/**
 * Creates the folder of an instance. It is created before the process, so that recovery finds every
 * process.
 */
export function createInstanceFolder(parent: string, instance: string): InstanceFolder {
  const folder = join(parent, instance)
  const home = toHome(folder)
  const temp = join(folder, 'tmp')
  for (const made of [home, temp]) mkdirSync(made, { recursive: true, mode: 0o700 })
  return {
    path: folder,
    home,
    temp,
    changeOwner(userId) {
      chmodSync(folder, 0o711)
      for (const path of [home, temp]) chownSync(path, userId, userId)
    },
    store(pid) {
      const start = readProcess(pid)?.start ?? ''
      writeFileSync(join(folder, PROCESS_FILE), JSON.stringify({ pid, start, boot: readBoot() }))
    },
    remove: (sandbox) => tryRemove(folder, sandbox),
  }
}

/**
 * Ends the processes of a killed server, which are identified by its instance folders: processes
 * with the mark of such an instance, the stored process with its group, and processes of its user
 * that left its sandbox.
 *
 * @param cgroup control group folder of the server. @default none
 * @param sandbox sandbox of the instances. @default none
 * @returns number of ended processes; a group counts as one.
 * @throws {Error} if some processes do not end, because they must not run twice.
 */
export async function endLeftoverInstances(
  parent: string,
  cgroup?: string,
  sandbox?: Sandbox,
): Promise<number> {
  mkdirSync(parent, { recursive: true, mode: 0o700 })
  const instances = await readdir(parent)
  const stored = instances.flatMap((instance) => killStored(join(parent, instance)) ?? [])
  const grouped = await removeCgroups(cgroup, instances)
  const users = listUsers(instances.map((instance) => toHome(join(parent, instance))))
  const marked = await killByEnv(instances.map(toMark), instances.map(toMountSource), users)
  await Promise.all(instances.map((instance) => tryRemove(join(parent, instance), sandbox)))
  return new Set([...stored, ...grouped, ...marked]).size
}

function toHome(folder: string): string {
  return join(folder, 'home')
}

/** Kills the process stored in the folder if it is still running. */
function killStored(folder: string): number | undefined {
  const { pid, start, boot } = readStored(folder)
  if (pid === undefined || boot !== readBoot() || readProcess(pid)?.start !== start) return
  signal(-pid, 'SIGKILL')
  return pid
}

function readStored(folder: string): { pid?: number; start?: string; boot?: string } {
  try {
    return JSON.parse(readFileSync(join(folder, PROCESS_FILE), 'utf8'))
  } catch {
    // The server was killed before it stored the process id. The mark identifies the process.
    return {}
  }
}

/** Returns the boot id of the machine; empty if unavailable. */
function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return ''
  }
}

/** Ignores failures, because the folder may contain too many or undeletable files. */
async function tryRemove(folder: string, sandbox: Sandbox | undefined): Promise<void> {
  await removeFolder(folder, sandbox).catch(() => {})
}
