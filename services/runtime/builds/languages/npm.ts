import { copyFile, lstat, readdir, rm, symlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { listPackages } from '../bundle.ts'
import { useCached } from '../cache.ts'
import { findFile, isFile, readIfExists } from '../files.ts'
import type { ProjectSettings } from '../project-file.ts'
import { removeGatewayPackage } from './gateway-package.ts'
import type { Builder, Env, Project } from './language.ts'
import { linkMx, MX_FOLDER } from './link-mx.ts'
import { LOCK_FILES, type PackageFile } from './package-file.ts'

export interface Installation {
  readonly project: Project
  /** Folder of the installed package: the project folder or a folder above it. */
  readonly folder: string
  readonly content: PackageFile
  /** The project's package; undefined if it has no package file. */
  readonly manifest: PackageFile | undefined
  readonly settings: ProjectSettings
  /** Entry file, relative to the project. */
  readonly start: string | undefined
}

const OTHER_LOCK_FILES = ['pnpm-lock.yaml', 'yarn.lock', 'bun.lock', 'bun.lockb']
/**
 * Matches packages that are folders in the source, which cannot be installed without the source.
 */
const LOCAL_PACKAGE = /"(file|link):|"link": true/

/** Installs the packages of a project with npm. If there is a lock file, the result is cached. */
export async function installPackages(input: Installation, builder: Builder): Promise<void> {
  const content = await removeGatewayPackage(input)
  const manifest = input.manifest === input.content ? content : input.manifest
  const job = { ...input, content, own: manifest }
  const { folder, project } = job
  const modules = join(folder, 'node_modules')
  if (await includesPackages(modules)) return
  // Created by a previous build, or copied with the source.
  await rm(modules, { recursive: true, force: true })
  if (!(await needsPackages(job, builder))) return

  const command = toInstall(job, builder)
  const env = toEnv(builder)
  const lockFile = await findFile(folder, LOCK_FILES)
  const lock = lockFile === undefined ? undefined : await readIfExists(join(folder, lockFile))
  if (lockFile === undefined || lock === undefined) {
    const otherLockFile = await findFile(folder, OTHER_LOCK_FILES)
    builder.writeOutput(
      `${otherLockFile === undefined ? 'no package-lock.json' : `${otherLockFile} is not supported, and there is no package-lock.json`}: installing the newest versions that package.json allows\n`,
    )
    return builder.run(command, folder, env)
  }
  const { scripts: _, ...rest } = content as Record<string, unknown>
  const text = JSON.stringify(rest)
  const isLocal = content.workspaces !== undefined || LOCAL_PACKAGE.test(lock + text)
  if (isLocal || builder.allowScripts) return builder.run(command, folder, env)

  const settings = (await readIfExists(join(folder, '.npmrc'))) ?? ''
  const platform = [process.version, process.platform, process.arch, MX_FOLDER]
  const entry = await useCached(
    {
      cacheFolder: builder.cacheFolder,
      kind: 'node',
      inputs: [lock, text, settings, ...command, ...platform],
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

/**
 * Returns whether the source includes its packages, apart from a link created by a build or
 * `mx-gateway` alone.
 */
async function includesPackages(modules: string): Promise<boolean> {
  const existing = await lstat(modules).catch(() => undefined)
  if (existing?.isDirectory() !== true) return false
  const [first, ...rest] = await readdir(modules, { withFileTypes: true })
  return rest.length > 0 || (first !== undefined && !first.isSymbolicLink())
}

/**
 * Returns whether there is anything to install. For a package file above the project, only if the
 * program imports packages.
 */
async function needsPackages(job: Installation, builder: Builder): Promise<boolean> {
  const { project, content, manifest: own, start } = job
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

/**
 * Returns whether development dependencies are needed, which build steps and start commands often
 * use.
 */
function usesTools({ manifest: own, settings }: Installation): boolean {
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
    // Reports an unreachable registry within seconds instead of a minute.
    npm_config_fetch_retry_mintimeout: '1000',
    npm_config_fetch_retry_maxtimeout: '5000',
    // Uses the user's registry and token, unless install scripts run that could read them.
    ...(!allowScripts && { npm_config_userconfig: join(homedir(), '.npmrc') }),
  }
}
