import { copyFile, lstat, readdir, rm, symlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { listPackages } from '../bundle.ts'
import { useCached } from '../cache.ts'
import { findFile, isFile, readIfThere } from '../files.ts'
import type { ProjectSettings } from '../project-file.ts'
import { removeGatewayPackage } from './gateway-package.ts'
import type { Builder, Env, Project } from './language.ts'
import { linkMx, MX_FOLDER } from './link-mx.ts'
import { LOCK_FILES, type PackageFile } from './package-file.ts'

/** What is installed. */
export interface Installation {
  readonly project: Project
  /** Of the package that is installed: the project's, or one above. */
  readonly folder: string
  readonly content: PackageFile
  /** The project's own package; undefined where it has none. */
  readonly own: PackageFile | undefined
  readonly settings: ProjectSettings
  /** The file the program starts with, relative to the project. */
  readonly start: string | undefined
}

const OTHER_LOCK_FILES = ['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']
/** Packages that are folders of the source: they cannot be installed without it. */
const LOCAL_PACKAGE = /"(file|link):|"link": true/

/** Installs the packages of a project with npm; those that its lock file names are kept for the builds to come. */
export async function installPackages(given: Installation, builder: Builder): Promise<void> {
  const content = await removeGatewayPackage(given)
  const own = given.own === given.content ? content : given.own
  const job = { ...given, content, own }
  const { folder, project } = job
  const modules = join(folder, 'node_modules')
  if (await cameAlong(modules)) return
  // Of a build before, or the one that this one was copied from.
  await rm(modules, { recursive: true, force: true })
  if (!(await needsPackages(job, builder))) return

  const command = toInstall(job, builder)
  const env = toEnv(builder)
  const lockFile = await findFile(folder, LOCK_FILES)
  const lock = lockFile === undefined ? undefined : await readIfThere(join(folder, lockFile))
  if (lockFile === undefined || lock === undefined) {
    const other = await findFile(folder, OTHER_LOCK_FILES)
    builder.say(
      `${other === undefined ? 'no package-lock.json' : `${other} is not read, and there is no package-lock.json`}: the newest versions that package.json allows are installed\n`,
    )
    return builder.run(command, folder, env)
  }
  const { scripts: _, ...rest } = content as Record<string, unknown>
  const text = JSON.stringify(rest)
  const isLocal = content.workspaces !== undefined || LOCAL_PACKAGE.test(lock + text)
  if (isLocal || builder.allowScripts) return builder.run(command, folder, env)

  const settings = (await readIfThere(join(folder, '.npmrc'))) ?? ''
  const place = [process.version, process.platform, process.arch, MX_FOLDER]
  const entry = await useCached(
    {
      cacheFolder: builder.cacheFolder,
      kind: 'node',
      madeOf: [lock, text, settings, ...command, ...place],
      user: project.root,
      signal: builder.signal,
    },
    async (cached) => {
      for (const name of ['package.json', lockFile, '.npmrc']) {
        if (await isFile(join(folder, name))) await copyFile(join(folder, name), join(cached, name))
      }
      await builder.run(command, cached, env)
      await linkMx(cached)
    },
  )
  await symlink(join(entry, 'node_modules'), modules, 'dir')
}

/** Whether packages are part of the source: neither a link to those of a build, nor `mx-gateway` alone. */
async function cameAlong(modules: string): Promise<boolean> {
  const there = await lstat(modules).catch(() => undefined)
  if (there?.isDirectory() !== true) return false
  const [first, ...others] = await readdir(modules, { withFileTypes: true })
  return others.length > 0 || (first !== undefined && !first.isSymbolicLink())
}

/** Whether there is anything to install: of a package above, only when the program imports something that must be. */
async function needsPackages(job: Installation, builder: Builder): Promise<boolean> {
  const { project, content, own, start } = job
  const { dependencies, devDependencies, optionalDependencies } = own ?? content
  const all = {
    ...dependencies,
    ...optionalDependencies,
    ...(usesTools(job) && devDependencies),
  }
  if (Object.keys(all).length === 0) return false
  if (own !== undefined || start === undefined) return true
  return (await listPackages(project, start, builder)).length > 0
}

/** Build steps and start commands often use tools that are development dependencies. */
function usesTools({ own, settings }: Installation): boolean {
  const scripts = own?.scripts
  const step = scripts?.['build'] ?? scripts?.['start'] ?? settings.build ?? settings.command
  return step !== undefined
}

function toInstall(job: Installation, { allowScripts }: Builder): string[] {
  const command = ['npm', 'install', '--no-audit', '--no-fund', '--no-progress', '--prefer-offline']
  if (!usesTools(job)) command.push('--omit=dev')
  if (!allowScripts) command.push('--ignore-scripts')
  return command
}

function toEnv({ cacheFolder, allowScripts }: Builder): Env {
  return {
    npm_config_cache: join(cacheFolder, 'npm'),
    npm_config_update_notifier: 'false',
    // A registry that cannot be reached is told in seconds, not after a minute.
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '5000',
    // The registry and its token as the server's user has them, as long as no code of others runs that could read them.
    ...(!allowScripts && { npm_config_userconfig: join(homedir(), '.npmrc') }),
  }
}
