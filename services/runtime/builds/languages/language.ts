import type { ProjectSettings } from '../project-file.ts'

export interface Project {
  /** Absolute path of the entire source. */
  readonly root: string
  /** Absolute working directory of the program, which is `root` or a folder below it. */
  readonly folder: string
  /** File in `folder` that was specified as the program; undefined if it must be detected. */
  readonly file: string | undefined
}

/** Environment of a build. */
export interface Builder {
  /** Cache of this server, shared by all builds. */
  readonly cacheFolder: string
  /** Whether to allow install scripts of packages. */
  readonly allowScripts: boolean
  readonly signal: AbortSignal
  readonly writeOutput: (text: string) => void
  /**
   * Runs a command to completion.
   *
   * @throws {ServiceError} 400 with the end of its output if it fails.
   */
  readonly run: (command: readonly string[], cwd: string, env?: Env) => Promise<void>
  /** Like `run`, but returns the standard output. */
  readonly read: (command: readonly string[], cwd: string) => Promise<string>
}

export type Env = Readonly<Record<string, string>>

/** Detection and build of programs in one language. */
export interface Language {
  readonly name: 'node' | 'python' | 'go' | 'executable'
  /** Returns whether the project contains a program in this language. */
  readonly detect: (project: Project) => Promise<boolean>
  /**
   * Installs dependencies and runs the project's build step. Returns the folder of installed
   * programs, if any.
   */
  readonly prepare: (
    project: Project,
    builder: Builder,
    settings: ProjectSettings,
  ) => Promise<string | undefined>
  /** Builds the program. Returns its command, or undefined if there is nothing to start. */
  readonly make: (project: Project, builder: Builder) => Promise<readonly string[] | undefined>
}

/** Output folder of builds, relative to the project. */
export const OUT_FOLDER = '.mx'
