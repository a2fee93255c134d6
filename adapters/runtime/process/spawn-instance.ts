import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Program, Workload } from '../../../core/contracts/runtime.ts'
import { toEnterCommand } from '../../../lib/process/cgroup.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { preferOomKill } from '../../../lib/process/oom-score.ts'
import type { Sandbox, Start } from '../../../lib/process/sandbox/sandbox.ts'
import { selectSandbox } from '../../../lib/process/sandbox/select-sandbox.ts'
import type { InstanceCgroup } from './cgroups.ts'
import { type InstanceVariables, toEnvironment, toMountSource } from './environment.ts'
import type { InstanceFolder } from './instance-folders.ts'
import { toDataBytes } from './limits.ts'
import type { RuntimeContext } from './runtime-context.ts'

interface Launch {
  readonly folder: string
  readonly words: readonly string[]
}

/**
 * Returns the command of a workload.
 *
 * @throws {Error} if the workload cannot run on this machine.
 */
export function toLaunch({ program, env, port, instances }: Workload): Launch {
  if (program.kind !== 'process')
    throw new Error('container images are not supported by this runtime: it runs local programs')
  const { folder, command } = program
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`folder ${folder} does not exist`)
  if (port !== undefined && instances > 1)
    throw new Error(`${instances} instances cannot share port ${port}`)
  const [name = '', ...args] = command
  const path = env['PATH'] ?? process.env['PATH'] ?? ''
  return { folder, words: [findProgram(name, folder, path), ...args] }
}

/** Resources of an instance. */
export interface InstanceParts extends Omit<InstanceVariables, 'home' | 'temp'> {
  readonly folder: InstanceFolder
  readonly group: InstanceCgroup | undefined
}

/**
 * Starts the process of an instance as the leader of a process group. The process inherits only two
 * pipes for its output. With isolation, it runs in the sandbox of its namespace.
 *
 * @throws {Error} if the command does not exist or the system denies it.
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
  const [first, ...rest] = [...(group === undefined ? [] : toEnterCommand(group)), ...start.words]
  const nothing = openSync(devNull, 'r+')
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
  for (const file of hiddenFiles) stdio[file] = nothing
  const options = { cwd: start.cwd, env: start.env, detached: true }
  const child = spawn(first!, rest, { ...options, stdio: Array.from(stdio, orIgnore) })
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

/**
 * Changes the owner of the instance's files and returns the sandboxed command. The build may
 * predate the isolation.
 */
async function enterSandbox(
  sandbox: Sandbox,
  { workload, words, env, dataBytes, parts }: SandboxedInstance,
): Promise<Start> {
  const { instance, folder: instanceFolder } = parts
  const { namespace, program } = workload
  const { folder, root = folder, shared = [] } = program as Program & { kind: 'process' }
  const userId = sandbox.toUserId(namespace)
  instanceFolder.changeOwner(userId)
  await sandbox.transferOwnership(root, userId)
  return sandbox.wrap(words, {
    ...{ userId, folder, env, mountSource: toMountSource(instance) },
    ...(dataBytes !== undefined && { dataBytes }),
    exposed: [
      { path: instanceFolder.path, isWritable: true },
      { path: root, isWritable: true },
      ...shared.map((path) => ({ path, isWritable: false })),
    ],
  })
}

/** Descriptors without an entry are not opened. */
function orIgnore<T>(file: T | undefined): T | 'ignore' {
  return file ?? 'ignore'
}
