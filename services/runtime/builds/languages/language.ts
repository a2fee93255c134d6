import type { ProjectSettings } from '../project-file.ts'

/** What is built. */
export interface Project {
  /** The whole source; absolute. */
  readonly root: string
  /** Where the program is, and runs: `root` or below; absolute. */
  readonly folder: string
  /** The file in `folder` that was named as the program; undefined: it is found. */
  readonly file: string | undefined
}

/** What a build is done with. */
export interface Builder {
  /** Folder of this server, for all builds. */
  readonly cacheFolder: string
  /** Whether packages may run scripts when they are installed. */
  readonly allowScripts: boolean
  readonly signal: AbortSignal
  readonly say: (text: string) => void
  /**
   * Runs a program to its end.
   *
   * @throws {ServiceError} 400 with the end of what it wrote when it fails.
   */
  readonly run: (command: readonly string[], cwd: string, env?: Env) => Promise<void>
  /** The same with what it wrote to standard output. */
  readonly read: (command: readonly string[], cwd: string) => Promise<string>
}

export type Env = Readonly<Record<string, string>>

/** How programs of one language are found and built. */
export interface Language {
  readonly name: 'node' | 'python' | 'go' | 'executable'
  /** Whether there is something of it. */
  readonly isHere: (project: Project) => Promise<boolean>
  /** Brings what the program stands on, and does the build step that it names itself. Returns a folder with programs of it, if there is one. */
  readonly prepare: (
    project: Project,
    builder: Builder,
    settings: ProjectSettings,
  ) => Promise<string | undefined>
  /** Makes the program. Returns its command; undefined when there is none to start. */
  readonly make: (project: Project, builder: Builder) => Promise<readonly string[] | undefined>
}

/** Folder in the project's where builds put what they make. */
export const OUT_FOLDER = '.mx'
