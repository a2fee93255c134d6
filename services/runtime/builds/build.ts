import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { badRequest, ServiceError } from '../../../sdk/errors.ts'
import { withDeadline } from '../jobs/deadline.ts'
import type { Work } from '../jobs/run-command.ts'
import { toPath } from '../jobs/work-environment.ts'
import { withWorkHome } from '../jobs/work-home.ts'
import { toSafePath } from '../sources/safe-path.ts'
import { createBuilder } from './builder.ts'
import { withDownloads } from './downloads.ts'
import { readIfThere } from './files.ts'
import { executable } from './languages/executable.ts'
import { go } from './languages/go.ts'
import type { Builder, Language, Project } from './languages/language.ts'
import { node } from './languages/node.ts'
import { parseProcfile } from './languages/procfile.ts'
import { python } from './languages/python.ts'
import { toCommand, toShell } from './languages/shell.ts'
import type { ProjectSettings } from './project-file.ts'

/** What is built. */
export interface BuildInput {
  /** The whole source; absolute. It is built in place, and must stay there for as long as it runs. */
  readonly folder: string
  /** The folder in it, or the file, that is run. @default '' itself */
  readonly entrypoint?: string
  /** What whoever runs it says, over what the project says in its `mx.yaml`. */
  readonly overrides?: ProjectSettings
  /** Folder of this server, for all builds. */
  readonly cacheFolder: string
  /** Whether packages may run scripts when they are installed. @default false */
  readonly allowScripts?: boolean
}

/** Something that can be run. */
export interface BuiltProgram {
  /** Where it runs; absolute. */
  readonly folder: string
  /** Program and arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly instances?: number
  readonly resources?: ProjectSettings['resources']
  readonly protocol: 'mx' | 'http'
  readonly port?: number
  /** `command`: nothing but a command of its own says how it is run. */
  readonly language: Language['name'] | 'command'
}

const ID = 'runtime'
const PROJECT_FILE = 'mx.yaml'
export const TIMEOUT_MS: number = 10 * 60_000
/** In the order they are looked for. */
const LANGUAGES: readonly Language[] = [node, go, python, executable]

/**
 * Makes a source something that can be run: finds out its language, installs what it stands on, and does its build step.
 *
 * @throws {ServiceError} 400 when there is nothing to run, `mx.yaml` is wrong or a step failed: what did in the first line, the
 *   end of the output after it. 408 when it takes too long; or the reason of the signal.
 */
export function buildSource(input: BuildInput, work: Work): Promise<BuiltProgram> {
  return withDeadline('the build', TIMEOUT_MS, work, async (signal) => {
    const { folder, entrypoint = '', cacheFolder, allowScripts = false } = input
    const project = await findProject(folder, entrypoint)
    try {
      const settings = await readSettings(project, input.overrides)
      const { onOutput } = work
      return await withDownloads(cacheFolder, () =>
        withWorkHome(cacheFolder, (home, group) => {
          const builder = createBuilder({
            home,
            group,
            cacheFolder,
            allowScripts,
            onOutput,
            signal,
          })
          return build(project, settings, builder)
        }),
      )
    } catch (error) {
      // What follows the first line was told as it came.
      if (error instanceof ServiceError) work.onOutput(`${error.message.split('\n')[0]}\n`)
      throw error
    }
  })
}

async function build(
  project: Project,
  settings: ProjectSettings,
  builder: Builder,
): Promise<BuiltProgram> {
  for (const language of LANGUAGES) {
    if (!(await language.isHere(project))) continue
    const programs = await language.prepare(project, builder, settings)
    const env = programs === undefined ? {} : { PATH: toPath([programs]) }
    for (const line of settings.build ?? []) await builder.run(toShell(line), project.folder, env)
    const command = settings.command ?? (await language.make(project, builder))
    if (command !== undefined) return toProgram(project, settings, command, language.name, env)
  }
  const { command } = settings
  if (command === undefined)
    throw badRequest(
      ID,
      `nothing to run in ${project.file ?? 'the folder'}: there must be a package.json with a start script, main.ts, main.js, main.py, Go files, a Procfile, a file that can be run, or a command in ${PROJECT_FILE}`,
    )
  for (const line of settings.build ?? []) await builder.run(toShell(line), project.folder)
  return toProgram(project, settings, command, 'command', {})
}

function toProgram(
  { folder }: Project,
  { build: _, env, protocol = 'mx', ...settings }: ProjectSettings,
  command: readonly string[],
  language: BuiltProgram['language'],
  ownEnv: Readonly<Record<string, string>>,
): BuiltProgram {
  return { ...settings, folder, command, protocol, language, env: { ...ownEnv, ...env } }
}

async function findProject(root: string, entrypoint: string): Promise<Project> {
  const path = entrypoint === '' ? '.' : toSafePath(entrypoint, 'the entrypoint')
  const there = await stat(join(root, path)).catch(() => undefined)
  if (there === undefined) throw badRequest(ID, `there is no ${path} in the source`)
  if (there.isDirectory()) return { root, folder: join(root, path), file: undefined }
  const names = path.split('/')
  return { root, folder: join(root, ...names.slice(0, -1)), file: names.at(-1) }
}

/** Its library is loaded by those only who have such a file. */
async function parseOwnFile(text: string): Promise<ProjectSettings> {
  const { parseProjectFile } = await import('./project-file.ts')
  return parseProjectFile(text)
}

/** What is said of how it is built and run, the nearest word last. */
async function readSettings(
  { folder, file }: Project,
  overrides: ProjectSettings = {},
): Promise<ProjectSettings> {
  const ownFile = await readIfThere(join(folder, PROJECT_FILE))
  const own = ownFile === undefined ? {} : await parseOwnFile(ownFile)
  const line =
    file === undefined
      ? parseProcfile((await readIfThere(join(folder, 'Procfile'))) ?? '')
      : undefined
  const resources = { ...own.resources, ...overrides.resources }
  return {
    ...(line !== undefined && { command: toCommand(line), protocol: 'http' as const }),
    ...own,
    ...overrides,
    env: { ...own.env, ...overrides.env },
    ...(Object.keys(resources).length > 0 && { resources }),
  }
}
