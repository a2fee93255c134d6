import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Workload } from '../../../core/contracts/runtime.ts'
import { letGoFirst } from '../../../core/process/let-go-first.ts'
import type { Cgroup } from './cgroups.ts'
import { type CopyVariables, toEnvironment } from './environment.ts'
import { findProgram } from './find-program.ts'
import type { World } from './world.ts'

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

/**
 * Starts the process of a copy: in the folder of its program, leading a group of its own, with nothing of the server's but its
 * two outputs, which are pipes.
 *
 * @throws {Error} when there is nothing to start, or the system does not let it.
 */
export async function spawnCopy(
  workload: Workload,
  variables: CopyVariables,
  group: Cgroup | undefined,
  { confine, hiddenFiles }: World,
): Promise<ChildProcess & { readonly pid: number }> {
  const { folder, words } = toLaunch(workload)
  const [first, ...rest] = confine(words, workload.resources, group)
  const nothing = openSync(devNull, 'r+')
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe']
  for (const file of hiddenFiles) stdio[file] = nothing
  const options = { cwd: folder, env: toEnvironment(workload.env, variables), detached: true }
  const child = spawn(first!, rest, { ...options, stdio: Array.from(stdio, orIgnored) })
  closeSync(nothing)
  if (child.pid === undefined) throw ((await once(child, 'error')) as [Error])[0]
  letGoFirst(child.pid)
  return child as ChildProcess & { readonly pid: number }
}

/** What no number was said of is not opened. */
function orIgnored<T>(file: T | undefined): T | 'ignore' {
  return file ?? 'ignore'
}
