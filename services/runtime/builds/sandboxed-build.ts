import { chownSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Cgroup } from '../../../lib/process/cgroup.ts'
import type { Sandbox } from '../../../lib/process/sandbox/sandbox.ts'
import type { Exposed } from '../../../lib/process/sandbox/view.ts'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'
import { withDeadline } from '../jobs/deadline.ts'
import { runCommand, type Work } from '../jobs/run-command.ts'
import { toWorkEnvironment } from '../jobs/work-environment.ts'
import { toMountSource, withWorkHome } from '../jobs/work-home.ts'
import { type BuildInput, type BuiltProgram, TIMEOUT_MS } from './build.ts'
import { parseBuildResult } from './build-result.ts'
import { BOUNDS, limit } from './builder.ts'

/** Input of a build process. */
export type BuildJob = { readonly input: BuildInput } | { readonly prune: string }

/** Builds in the sandbox of a namespace. */
export interface SandboxedBuilds {
  /** Like {@link buildSource}, with the cache of the namespace. */
  readonly build: (input: Omit<BuildInput, 'cacheFolder'>, work: Work) => Promise<BuiltProgram>
  /** Copies a tree that a program may be modifying. */
  readonly copy: (from: string, to: string, work: Work) => Promise<void>
  /** Deletes cached packages that are not used by any build. */
  readonly prune: () => Promise<void>
}

export interface SandboxedBuildsOptions {
  readonly sandbox: Sandbox
  readonly namespace: string
  /** Cache of the namespace, which is created if missing. */
  readonly cacheFolder: string
  /** Folder for the home folders of builds. */
  readonly workFolder: string
}

interface Task {
  readonly words: readonly string[]
  readonly folder: string
  readonly exposed: readonly Exposed[]
}

const ID = 'runtime'
const MAX_RESULT = 1024 * 1024
const SILENT: Work = { onOutput() {}, signal: new AbortController().signal }
/** Tests run from the source; otherwise, the program is next to this module or its bundle. */
const IS_SOURCE = import.meta.filename.endsWith('.ts')
const MAIN = fileURLToPath(new URL(`./build-main.${IS_SOURCE ? 'ts' : 'js'}`, import.meta.url))
const NODE = [process.execPath, ...(IS_SOURCE ? process.execArgv : []), MAIN]

export function createSandboxedBuilds(options: SandboxedBuildsOptions): SandboxedBuilds {
  const { sandbox, namespace, cacheFolder, workFolder } = options
  const userId = sandbox.toUserId(namespace)
  mkdirSync(cacheFolder, { recursive: true, mode: 0o700 })
  chownSync(cacheFolder, userId, userId)
  const cache = { path: cacheFolder, isWritable: true }

  /** Runs a command to completion. Returns how it ended, and its standard output. */
  function run({ words, folder, exposed }: Task, { onOutput, signal }: Work) {
    const work = async (home: string, group: Cgroup | undefined) => {
      chownSync(home, userId, userId)
      const { words: command, ...start } = sandbox.wrap(words, {
        ...{ userId, folder, env: toWorkEnvironment(home), mountSource: toMountSource(home) },
        exposed: [{ path: home, isWritable: true }, ...exposed],
      })
      let result = ''
      const end = await runCommand(command, {
        ...{ ...start, signal, group, bounds: BOUNDS, onOutput: limit(onOutput) },
        onStdout(text) {
          if (result.length < MAX_RESULT) result += text
        },
      })
      return { ...end, result }
    }
    return withWorkHome(workFolder, work, sandbox)
  }

  async function runOrFail(task: Task, work: Work): Promise<void> {
    const { isDone, outcome, tail } = await run(task, work)
    if (!isDone) throw new Error(`${task.words[0]}: ${outcome} ${tail}`.trim())
  }

  return {
    build: (input, work) =>
      withDeadline('the build', TIMEOUT_MS, work, async (signal) => {
        const { folder } = input
        await sandbox.transferOwnership(folder, userId)
        const job: BuildJob = { input: { ...input, cacheFolder } }
        const exposed = [{ path: folder, isWritable: true }, cache]
        const words = [...NODE, JSON.stringify(job)]
        const { result, outcome, tail } = await run({ words, folder, exposed }, { ...work, signal })
        const report = parseBuildResult(result, folder)
        if (report === undefined) throw badRequest(ID, `build failed: ${outcome}\n${tail}`.trim())
        if ('built' in report) return report.built
        throw new ServiceError(ID, report.failure.code, report.failure.message)
      }),

    async copy(from, to, work) {
      // Builds created before isolation was enabled belong to the server's user.
      await sandbox.transferOwnership(from, userId)
      mkdirSync(to, { recursive: true, mode: 0o700 })
      chownSync(to, userId, userId)
      const exposed = [
        { path: from, isWritable: false },
        { path: to, isWritable: true },
      ]
      const words = ['/bin/cp', '-RPp', `${from}/.`, '.']
      await runOrFail({ words, folder: to, exposed }, work)
    },

    prune: () =>
      runOrFail(
        {
          ...{ words: [...NODE, JSON.stringify({ prune: cacheFolder } satisfies BuildJob)] },
          ...{ folder: cacheFolder, exposed: [cache] },
        },
        SILENT,
      ),
  }
}
