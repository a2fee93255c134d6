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
import { readIfExists } from './files.ts'
import { executable } from './languages/executable.ts'
import { go } from './languages/go.ts'
import type { Builder, Language, Project } from './languages/language.ts'
import { node } from './languages/node.ts'
import { parseProcfile } from './languages/procfile.ts'
import { python } from './languages/python.ts'
import { toCommand, toShell } from './languages/shell.ts'
import type { ProjectSettings } from './project-file.ts'

export interface BuildInput {
  /**
   * Absolute path of the entire source. It is built in place and must exist as long as the program
   * runs.
   */
  readonly folder: string
  /** Folder or file to run, relative to `folder`. @default '', the source itself */
  readonly entrypoint?: string
  /** Settings from the caller, which take precedence over the project's `mx.yaml`. */
  readonly overrides?: ProjectSettings
  /** Cache of this server, shared by all builds. */
  readonly cacheFolder: string
  /** Whether to allow install scripts of packages. @default false */
  readonly allowScripts?: boolean
}

export interface BuiltProgram {
  /** Absolute working directory. */
  readonly folder: string
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly instances?: number
  readonly resources?: ProjectSettings['resources']
  readonly protocol: 'mx' | 'http'
  readonly port?: number
  /** Language; `command` if only a custom command defines how to run the program. */
  readonly language: Language['name'] | 'command'
}

const ID = 'runtime'
const PROJECT_FILE = 'mx.yaml'
export const TIMEOUT_MS: number = 10 * 60_000
/** Languages in the order of detection. */
const LANGUAGES: readonly Language[] = [node, go, python, executable]

/**
 * Builds a source: detects its language, installs its dependencies and runs its build step.
 *
 * @throws {ServiceError} 400 if there is nothing to run, `mx.yaml` is invalid or a step failed. The
 * first line contains the cause; the end of the output follows. 408 on timeout, or the reason of
 * the signal.
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
      // The remaining lines have already been streamed.
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
    if (!(await language.detect(project))) continue
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
      `nothing to run in ${project.file ?? 'the folder'}: add a package.json with a start script, main.ts, main.js, main.py, Go files, a Procfile, an executable file, or a command in ${PROJECT_FILE}`,
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
  if (there === undefined) throw badRequest(ID, `the source does not contain ${path}`)
  if (there.isDirectory()) return { root, folder: join(root, path), file: undefined }
  const names = path.split('/')
  return { root, folder: join(root, ...names.slice(0, -1)), file: names.at(-1) }
}

// The YAML library is loaded only for projects that contain this file.
async function parseSettings(text: string): Promise<ProjectSettings> {
  const { parseProjectFile } = await import('./project-file.ts')
  return parseProjectFile(text)
}

/** Merges the settings from `mx.yaml`, the Procfile and the caller, in ascending precedence. */
async function readSettings(
  { folder, file }: Project,
  overrides: ProjectSettings = {},
): Promise<ProjectSettings> {
  const settingsFile = await readIfExists(join(folder, PROJECT_FILE))
  const settings = settingsFile === undefined ? {} : await parseSettings(settingsFile)
  const line =
    file === undefined
      ? parseProcfile((await readIfExists(join(folder, 'Procfile'))) ?? '')
      : undefined
  const resources = { ...settings.resources, ...overrides.resources }
  return {
    ...(line !== undefined && { command: toCommand(line), protocol: 'http' as const }),
    ...settings,
    ...overrides,
    env: { ...settings.env, ...overrides.env },
    ...(Object.keys(resources).length > 0 && { resources }),
  }
}
