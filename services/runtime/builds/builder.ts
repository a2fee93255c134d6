import { totalmem } from 'node:os'
import type { Cgroup } from '../../../lib/process/cgroup.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { runCommand } from '../jobs/run-command.ts'
import { toWorkEnvironment } from '../jobs/work-environment.ts'
import type { Builder, Env } from './languages/language.ts'

export interface BuilderOptions {
  /** Home folder of this build, which already exists. */
  readonly home: string
  /** Control group of this build. @default the group of this process */
  readonly group?: Cgroup | undefined
  readonly cacheFolder: string
  readonly allowScripts: boolean
  readonly onOutput: (text: string) => void
  readonly signal: AbortSignal
}

const ID = 'runtime'
/**
 * Maximum length of a build's output in characters. If a step fails, the end of its output is
 * included in the error.
 */
const MAX_OUTPUT = 4 * 1024 * 1024
const MAX_READ = 64 * 1024
/** Limits of a build: at most half of the resources of the machine or container. */
export const BOUNDS: { readonly memoryBytes: number; readonly processes: number } = {
  memoryBytes: Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 2,
  processes: 1024,
}

export function createBuilder(options: BuilderOptions): Builder {
  const { home, group, cacheFolder, allowScripts, signal } = options
  const workEnv = toWorkEnvironment(home)
  const writeOutput = limit(options.onOutput)

  async function start(
    command: readonly string[],
    cwd: string,
    env: Env,
    onStdout?: (text: string) => void,
  ): Promise<void> {
    const { isDone, outcome, tail } = await runCommand(command, {
      cwd,
      env: { ...workEnv, ...env },
      signal,
      group,
      bounds: BOUNDS,
      onOutput: writeOutput,
      ...(onStdout !== undefined && { onStdout }),
    })
    if (!isDone)
      throw badRequest(ID, `build failed: ${toTitle(command)}: ${outcome}\n${tail}`.trim())
  }

  return {
    cacheFolder,
    allowScripts,
    signal,
    writeOutput,
    run(command, cwd, env = {}) {
      writeOutput(`$ ${toTitle(command)}\n`)
      return start(command, cwd, env)
    },
    async read(command, cwd) {
      let text = ''
      await start(command, cwd, {}, (more) => {
        if (text.length < MAX_READ) text += more
      })
      return text
    },
  }
}

function toTitle(command: readonly string[]): string {
  return command[0] === '/bin/sh' && command[1] === '-c' ? command[2]! : command.join(' ')
}

/** Truncates output that is too long. */
export function limit(write: (text: string) => void): (text: string) => void {
  let remaining = MAX_OUTPUT
  return (text) => {
    if (remaining <= 0) return
    write(text.slice(0, remaining))
    remaining -= text.length
    if (remaining <= 0) write('\n... output truncated\n')
  }
}
