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
 * Does work in a home folder of its own (`HOME` of the programs it runs). Nothing of it is left then: neither files nor programs
 * that left their parents: they share a control group, where there can be one, and have that home in their environment.
 *
 * @param cacheFolder of this server, for all builds.
 * @param sandbox that the programs run in. @default none
 */
export async function withWorkHome<T>(
  cacheFolder: string,
  run: (home: string, group: Cgroup | undefined) => Promise<T>,
  sandbox?: Sandbox,
): Promise<T> {
  const homes = toHomes(cacheFolder)
  await mkdir(homes, { recursive: true, mode: 0o700 })
  const home = await mkdtemp(join(homes, 'work-'))
  try {
    return await run(home, tryCreateCgroup(findCurrentCgroup(), basename(home)))
  } finally {
    await endHomes([home], sandbox)
  }
}

/** Ends and removes what a server that was killed left of its work. @throws {Error} when some of it does not end. */
export async function endLeftoverWork(cacheFolder: string, sandbox?: Sandbox): Promise<void> {
  const homes = toHomes(cacheFolder)
  const names = await readdir(homes).catch(() => [])
  await endHomes(
    names.map((name) => join(homes, name)),
    sandbox,
  )
}

/** Source of the mounts of isolated programs with this home. */
export function toMountSource(home: string): string {
  return `mx-${basename(home)}`
}

function toHomes(cacheFolder: string): string {
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
