import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Program, Workload } from '../../../core/contracts/runtime.ts'
import { toEnter } from '../../../lib/process/cgroup.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { preferOomKill } from '../../../lib/process/oom-score.ts'
import type { Sandbox, Start } from '../../../lib/process/sandbox/sandbox.ts'
import { selectSandbox } from '../../../lib/process/sandbox/select-sandbox.ts'
import type { InstanceCgroup } from './cgroups.ts'
import { type InstanceVariables, toEnvironment, toMountSource } from './environment.ts'
import type { InstanceFolder } from './instance-folders.ts'
import { toDataBytes } from './limits.ts'
import type { RuntimeContext } from './runtime-context.ts'

/** What is to be started, and where. */
interface Launch {
  readonly folder: string
  readonly words: readonly string[]
}

/**
 * What a workload asks for, looked up.
 *
 * @throws {Error} when that cannot be run at all.
 */
export function toLaunch({ program, env, port, instances }: Workload): Launch {
  if (program.kind !== 'process')
    throw new Error('it is an image, and this runtime runs programs of its own machine')
  const { folder, command } = program
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`its folder ${folder} is not there`)
  if (port !== undefined && instances > 1)
    throw new Error(`its ${instances} copies cannot all listen at port ${port}: one can`)
  const [name = '', ...args] = command
  const path = env['PATH'] ?? process.env['PATH'] ?? ''
  return { folder, words: [findProgram(name, folder, path), ...args] }
}

/** What an instance has of its own. */
export interface InstanceParts extends Omit<InstanceVariables, 'home' | 'temp'> {
  readonly folder: InstanceFolder
  readonly group: InstanceCgroup | undefined
}

/**
 * Starts the process of an instance: it leads a process group, and inherits nothing of the server but two pipes for its output.
 * Where programs are isolated it runs in the sandbox of its namespace.
 *
 * @throws {Error} if there is nothing to start, or the system does not allow it.
 */
export async function spawnInstance(
  workload: Workload,
  parts: InstanceParts,
  { confine, hiddenFiles, isolation }: RuntimeContext,
): Promise<ChildProcess & { readonly pid: number }> {
  const { folder, words } = toLaunch(workload)
  const { group } = parts
  const env = toEnvironment(workload.env, { ...parts, ...parts.folder })
  const dataBytes = toDataBytes(workload.resources, group?.isBounded === true)
  const sandbox = selectSandbox(await isolation, workload.namespace)
  const start =
    sandbox === undefined
      ? { words: confine(words, dataBytes), env, cwd: folder }
      : await enterSandbox(sandbox, { workload, words, env, dataBytes, parts })
  const [first, ...rest] = [...(group === undefined ? [] : toEnter(group)), ...start.words]
  const nothing = openSync(devNull, 'r+')
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
  for (const file of hiddenFiles) stdio[file] = nothing
  const options = { cwd: start.cwd, env: start.env, detached: true }
  const child = spawn(first!, rest, { ...options, stdio: Array.from(stdio, orIgnored) })
  closeSync(nothing)
  if (child.pid === undefined) throw ((await once(child, 'error')) as [Error])[0]
  preferOomKill(child.pid)
  return child as ChildProcess & { readonly pid: number }
}

interface SandboxedInstance {
  readonly workload: Workload
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly dataBytes: number | undefined
  readonly parts: InstanceParts
}

/** Gives the instance's user its files, and returns how to start it. The build may be older than the isolation of programs. */
async function enterSandbox(
  sandbox: Sandbox,
  { workload, words, env, dataBytes, parts }: SandboxedInstance,
): Promise<Start> {
  const { instance, folder: own } = parts
  const { namespace, program } = workload
  const { folder, root = folder, shared = [] } = program as Program & { kind: 'process' }
  const userId = sandbox.toUserId(namespace)
  own.giveTo(userId)
  await sandbox.give(root, userId)
  return sandbox.wrap(words, {
    ...{ userId, folder, env, mountSource: toMountSource(instance) },
    ...(dataBytes !== undefined && { dataBytes }),
    exposed: [
      { path: own.path, isWritable: true },
      { path: root, isWritable: true },
      ...shared.map((path) => ({ path, isWritable: false })),
    ],
  })
}

/** What no number was said of is not opened. */
function orIgnored<T>(file: T | undefined): T | 'ignore' {
  return file ?? 'ignore'
}
