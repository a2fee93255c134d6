import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { findMissingCapabilities, isPrivileged } from '../capabilities.ts'
import { findProgram } from '../find-program.ts'
import { openUserIds, type UserIdRange } from './user-ids.ts'
import { type Exposed, quoteShell, toViewScript } from './view.ts'

/** Runs programs of each namespace as a separate user, with a restricted view of files and processes. */
export interface Sandbox {
  /** Returns the user and group id of a namespace. @throws {Error} if the range is exhausted. */
  readonly toUserId: (namespace: string) => number
  /** Wraps a command so that it starts in the sandbox. */
  readonly wrap: (words: readonly string[], run: SandboxedRun) => Start
  /**
   * Transfers the ownership of a folder and its content to a user, unless it already belongs to that user. Nothing else
   * may write to it during the call.
   */
  readonly transferOwnership: (folder: string, userId: number) => Promise<void>
  /** Whether `/proc` only shows a program the processes of its user. */
  readonly hasPrivateProc: boolean
}

/** Parameters of a process start. */
export interface Start {
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

export interface SandboxedRun {
  readonly userId: number
  /** Absolute path of the working directory. */
  readonly folder: string
  /** Complete environment. Variables whose names are not shell identifiers are omitted. */
  readonly env: Readonly<Record<string, string>>
  readonly exposed: readonly Exposed[]
  /** Source of the mounts that only this program and its descendants see. @default mx */
  readonly mountSource?: string
  /** Limit of the data segment of each process. @default none */
  readonly dataBytes?: number
}

/** Whether programs are isolated from the server and from programs of other namespaces. */
export type Isolation =
  | { readonly sandbox: Sandbox }
  | {
      readonly sandbox: undefined
      readonly reason: string
      /** Whether a program without a sandbox has root privileges. */
      readonly isPrivileged: boolean
    }

export interface SandboxOptions {
  /** Folder of the runtime, used for assigned user ids and assembling views. */
  readonly folder: string
  /** Folder with secrets and data that no program may see. */
  readonly hidden: string
  /** Undefined if programs run as the user of the server. */
  readonly userIds: UserIdRange | undefined
  /** Installation folders that programs read, such as this package. */
  readonly installed: readonly string[]
}

/**
 * Before Linux 5.8, mounts of `/proc` in the same pid namespace share their options, which would hide processes from
 * everyone.
 */
const PRIVATE_PROC_SINCE = [5, 8]
const PRIVATE_PROC = 'mount -t proc -o hidepid=2,nosuid,nodev,noexec proc /proc'
/** Search path for system programs that run before privileges are dropped. It never comes from a program. */
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
/**
 * Prefix of the program's variables until privileges are dropped; otherwise variables such as `LD_PRELOAD` would run
 * its code as root. They are not passed as arguments, which other users can see.
 */
const PREFIX = 'MX_RUN_'
const IDENTIFIER = /^[A-Za-z_]\w*$/
const PROBE_MS = 10_000
const run = promisify(execFile)

/** Opens the sandbox by testing it. Returns the reason if the system does not permit it. */
export async function openSandbox(options: SandboxOptions): Promise<Isolation> {
  const { userIds } = options
  const reason = findObstacle(userIds)
  if (reason !== undefined) return { sandbox: undefined, reason, isPrivileged: isPrivileged() }
  let failure = ''
  for (const hasPrivateProc of isPrivateProcSafe() ? [true, false] : [false]) {
    try {
      const sandbox = createSandbox(options, userIds!, hasPrivateProc)
      await probe(sandbox, options, userIds!.last)
      return { sandbox }
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string }
      failure = (stderr?.trim() || message).split('\n')[0]!
    }
  }
  return { sandbox: undefined, reason: failure, isPrivileged: isPrivileged() }
}

function findObstacle(userIds: UserIdRange | undefined): string | undefined {
  if (process.platform !== 'linux') return `it requires Linux, got ${process.platform}`
  if (userIds === undefined) return 'runtime_uids is none'
  const missing = findMissingCapabilities()
  if (missing.length === 0) return undefined
  return `the server runs as user ${process.getuid!()} without ${missing.join(', ')}`
}

function isPrivateProcSafe(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number)
  const [sinceMajor, sinceMinor] = PRIVATE_PROC_SINCE as [number, number]
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor)
}

function createSandbox(
  { folder, hidden, installed }: SandboxOptions,
  userIds: UserIdRange,
  hasPrivateProc: boolean,
): Sandbox {
  const stage = join(folder, 'view')
  mkdirSync(stage, { recursive: true, mode: 0o700 })
  const programs = {
    unshare: findProgram('unshare', '/', SYSTEM_PATH),
    setpriv: findProgram('setpriv', '/', SYSTEM_PATH),
    chown: findProgram('chown', '/', SYSTEM_PATH),
  }
  const toUserId = openUserIds(join(folder, 'user-ids.json'), userIds)
  const always = [dirname(process.execPath), ...installed]
    .map(toInstallation)
    .map((path) => ({ path, isWritable: false }))
  return {
    toUserId,
    hasPrivateProc,
    wrap(words, { userId, folder, env, exposed, dataBytes, mountSource }) {
      const view = toViewScript({
        ...{ exposed: [...exposed, ...always], hidden, stage, source: mountSource },
      })
      const script = ['set -e', ...view, ...(hasPrivateProc ? [PRIVATE_PROC] : []), 'exec "$@"']
      const names = Object.keys(env).filter((name) => IDENTIFIER.test(name))
      const variables = names.map((name) => [PREFIX + name, env[name]!])
      return {
        cwd: '/',
        env: { ...Object.fromEntries(variables), PATH: SYSTEM_PATH },
        words: [
          ...[programs.unshare, '--mount', '--propagation', 'private', '--'],
          ...['/bin/sh', '-c', script.join('\n'), 'mx'],
          ...[programs.setpriv, '--reuid', String(userId), '--regid', String(userId)],
          ...['--clear-groups', '--no-new-privs', '--pdeathsig', 'KILL'],
          ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--'],
          ...['/bin/sh', '-c', toStartScript(names, dataBytes), folder, ...words],
        ],
      }
    },
    async transferOwnership(folder, userId) {
      if (statSync(folder).uid === userId) return
      await run(programs.chown, ['-hR', `${userId}:${userId}`, '--', folder])
    },
  }
}

/**
 * Runs as the user of the program: sets limits and variables, and enters its folder, which may be a link to a folder
 * that only the server can enter.
 */
function toStartScript(names: readonly string[], dataBytes: number | undefined): string {
  return [
    'ulimit -c 0',
    ...(dataBytes === undefined ? [] : [`ulimit -d ${Math.ceil(dataBytes / 1024)}`]),
    ...names.map((name) => `export ${name}="$${PREFIX}${name}"; unset ${PREFIX}${name}`),
    'cd "$0" && unset PWD OLDPWD && exec "$@"',
  ].join('\n')
}

/** Returns the folder to expose for an installation, including adjacent packages or the libraries of a program. */
function toInstallation(path: string): string {
  const names = path.split(sep)
  const modules = names.indexOf('node_modules')
  if (modules > 0) return names.slice(0, modules + 1).join(sep)
  return names.at(-1) === 'bin' ? dirname(path) : path
}

/**
 * Checks from within the sandbox that node and the installation are readable, and that the hidden folder and other
 * processes are invisible.
 */
async function probe(
  sandbox: Sandbox,
  { folder, installed }: SandboxOptions,
  userId: number,
): Promise<void> {
  const home = join(folder, 'probe')
  const script = `
    fail() { echo "$1" >&2; exit 1; }
    for path in ${[process.execPath, ...installed].map(quoteShell).join(' ')}; do
      test -r "$path" -a -x "$path" || fail "other users cannot read $path"
    done
    test -w . || fail "folders of programs cannot be reached"
    test ! -e ${quoteShell(join(folder, 'view'))} || fail "the data folder is visible"
    ${sandbox.hasPrivateProc ? 'test ! -e /proc/1 || fail "/proc is not private"' : ''}
    exit 0`
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home, { mode: 0o700 })
  try {
    chownSync(home, userId, userId)
    const exposed = [{ path: home, isWritable: true }]
    const { words, ...how } = sandbox.wrap(['/bin/sh', '-c', script], {
      ...{ userId, folder: home, env: {}, exposed },
    })
    await run(words[0]!, words.slice(1), { ...how, timeout: PROBE_MS })
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
