import { totalmem } from 'node:os'
import type { Cgroup } from '../../../lib/process/cgroup.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { runCommand } from '../jobs/run-command.ts'
import { toWorkEnvironment } from '../jobs/work-environment.ts'
import type { Builder, Env } from './languages/language.ts'

export interface BuilderOptions {
  /** Of this build alone; there already. */
  readonly home: string
  /** Control group of this build. @default that of this process */
  readonly group?: Cgroup | undefined
  readonly cacheFolder: string
  readonly allowScripts: boolean
  readonly onOutput: (text: string) => void
  readonly signal: AbortSignal
}

const ID = 'runtime'
/** What is told of a build, characters; the end of what failed is in the error. */
const MAX_OUTPUT = 4 * 1024 * 1024
const MAX_READ = 64 * 1024
/** A build takes no more than half of what this machine, or its container, has. */
export const BOUNDS: { readonly memoryBytes: number; readonly processes: number } = {
  memoryBytes: Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 2,
  processes: 1024,
}

export function createBuilder(options: BuilderOptions): Builder {
  const { home, group, cacheFolder, allowScripts, signal } = options
  const workEnv = toWorkEnvironment(home)
  const say = limit(options.onOutput)

  async function start(
    command: readonly string[],
    cwd: string,
    env: Env,
    onStdout?: (text: string) => void,
  ): Promise<void> {
    const { isDone, how, tail } = await runCommand(command, {
      cwd,
      env: { ...workEnv, ...env },
      signal,
      group,
      bounds: BOUNDS,
      onOutput: say,
      ...(onStdout !== undefined && { onStdout }),
    })
    if (!isDone) throw badRequest(ID, `build failed: ${toTitle(command)}: ${how}\n${tail}`.trim())
  }

  return {
    cacheFolder,
    allowScripts,
    signal,
    say,
    run(command, cwd, env = {}) {
      say(`$ ${toTitle(command)}\n`)
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

/** Cuts output that is too long. */
export function limit(tell: (text: string) => void): (text: string) => void {
  let room = MAX_OUTPUT
  return (text) => {
    if (room <= 0) return
    tell(text.slice(0, room))
    room -= text.length
    if (room <= 0) tell('\n... the rest of the output is not kept\n')
  }
}
