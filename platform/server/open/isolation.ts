import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { protectMemory } from '../../../lib/process/protect-memory.ts'
import { type Isolation, openSandbox, type Sandbox } from '../../../lib/process/sandbox/sandbox.ts'
import type { ServiceLog } from '../../../sdk/log/service-log.ts'
import type { Settings } from '../../settings/settings.ts'

export interface OpenIsolationOptions {
  readonly settings: Pick<Settings, 'profile' | 'runtimeNamespaces' | 'runtimeUids'>
  /** Folder of the runtime. */
  readonly folder: string
  /** Folder of the server's data and secrets. */
  readonly hidden: string
  readonly log: ServiceLog
}

const PACKAGE = dirname(fileURLToPath(import.meta.resolve('mx-gateway/package.json')))

const ISOLATED = 'programs started by mx run are isolated with one user per namespace'
const UNPRIVILEGED = 'programs started by mx run are not isolated and run as the user of the server'
const PRIVILEGED =
  'programs started by mx run are not isolated: programs in namespace mx run as root; programs in other namespaces are rejected'
const HINT =
  'set runtime_uids to a range and give the server CAP_SYS_ADMIN, or run the server as an unprivileged user'

/** Checks whether programs can be isolated, and logs what they can access. */
export async function openIsolation(options: OpenIsolationOptions): Promise<Isolation> {
  const { settings, folder, hidden, log } = options
  const { runtimeUids: userIds, runtimeNamespaces, profile } = settings
  const installed = [PACKAGE]
  const isolation = await openSandbox({
    ...{ folder: join(folder, 'isolation'), hidden, userIds, installed },
  })
  const { sandbox } = isolation
  const accessible =
    sandbox === undefined
      ? await describeAccess(hidden, isolation.isPrivileged)
      : describeSandboxAccess(sandbox)
  if (sandbox !== undefined) {
    const uids = `${userIds!.first}-${userIds!.last}`
    log.info({ uids, accessible }, ISOLATED)
  } else {
    const details = { reason: isolation.reason, accessible }
    if (isolation.isPrivileged) log.warn({ ...details, hint: HINT }, PRIVILEGED)
    // On a personal machine, only its owner runs programs.
    else if (profile === 'local') log.info(details, UNPRIVILEGED)
    else log.warn(details, UNPRIVILEGED)
  }
  if (runtimeNamespaces.length > 0)
    log.warn(
      { runtimeNamespaces, accessible },
      'administrators of additional namespaces may run programs on this machine',
    )
  return isolation
}

function describeSandboxAccess({ hasPrivateProc }: Sandbox): string {
  const processes = hasPrivateProc ? '' : ', the command lines of all processes'
  return `world-readable files${processes}, services on the network of this machine`
}

/** @param isPrivileged whether the server, and thus its programs, bypass file permissions. */
async function describeAccess(hidden: string, isPrivileged: boolean): Promise<string> {
  const memory = (await protectMemory()) ? '' : ', the environment and memory of the server'
  const owner = isPrivileged ? 'all users of this machine' : `user ${process.getuid?.()}`
  return `all files of ${owner}: the data and secrets in ${hidden}${memory}, the environment and memory of other programs`
}
