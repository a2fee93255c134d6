import { mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  type Cgroup,
  findCurrentCgroup,
  removeCgroups,
  tryCreateCgroup,
} from '../../../lib/process/cgroup.ts'
import { killByEnv } from '../../../lib/process/kill-by-env.ts'
import { listUsers } from '../../../lib/process/sandbox/list-users.ts'
import { removeFolder } from '../../../lib/process/sandbox/remove-folder.ts'
import type { Sandbox } from '../../../lib/process/sandbox/sandbox.ts'

/**
 * Runs work with a temporary home folder (`HOME` of its programs). Afterwards, the folder is
 * deleted and its programs are killed, including detached ones: they share a control group, if
 * available, and have this home folder in their environment.
 *
 * @param cacheFolder cache of this server, shared by all builds.
 * @param sandbox sandbox in which the programs run. @default none
 */
export async function withWorkHome<T>(
  cacheFolder: string,
  run: (home: string, group: Cgroup | undefined) => Promise<T>,
  sandbox?: Sandbox,
): Promise<T> {
  const homes = toHomesFolder(cacheFolder)
  await mkdir(homes, { recursive: true, mode: 0o700 })
  const home = await mkdtemp(join(homes, 'work-'))
  try {
    return await run(home, tryCreateCgroup(findCurrentCgroup(), basename(home)))
  } finally {
    await endHomes([home], sandbox)
  }
}

/**
 * Ends and deletes work left behind by a server that was killed.
 *
 * @throws {Error} if a process does not end.
 */
export async function endLeftoverWork(cacheFolder: string, sandbox?: Sandbox): Promise<void> {
  const homes = toHomesFolder(cacheFolder)
  const names = await readdir(homes).catch(() => [])
  await endHomes(
    names.map((name) => join(homes, name)),
    sandbox,
  )
}

export function toMountSource(home: string): string {
  return `mx-${basename(home)}`
}

function toHomesFolder(cacheFolder: string): string {
  return join(cacheFolder, 'homes')
}

async function endHomes(homes: readonly string[], sandbox: Sandbox | undefined): Promise<void> {
  await removeCgroups(
    findCurrentCgroup(),
    homes.map((home) => basename(home)),
  )
  await killByEnv(
    homes.map((home) => `HOME=${home}`),
    homes.map(toMountSource),
    listUsers(homes),
  )
  for (const home of homes) await removeFolder(home, sandbox)
}
