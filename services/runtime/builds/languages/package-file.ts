import { dirname, join } from 'node:path'
import { badRequest } from '../../../../sdk/errors.ts'
import { findFile, readIfExists } from '../files.ts'
import type { Project } from './language.ts'

/** Fields of package.json that builds read. */
export interface PackageFile {
  readonly main?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly workspaces?: unknown
  readonly exports?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface FoundPackage {
  readonly folder: string
  readonly content: PackageFile
}

/** npm lock files in order of precedence. */
export const LOCK_FILES: readonly string[] = ['npm-shrinkwrap.json', 'package-lock.json']
const ID = 'runtime'

/**
 * Reads the package.json in a folder. Returns undefined if the file does not exist.
 *
 * @throws {ServiceError} 400 if it is invalid.
 */
export async function readPackage(folder: string): Promise<PackageFile | undefined> {
  const text = await readIfExists(join(folder, 'package.json'))
  if (text === undefined) return undefined
  try {
    const content: unknown = JSON.parse(text)
    if (typeof content === 'object' && content !== null) return content as PackageFile
  } catch (error) {
    throw badRequest(ID, `package.json is not valid JSON: ${(error as Error).message}`, {
      cause: error,
    })
  }
  throw badRequest(ID, 'package.json must be an object')
}

/**
 * Returns the package that declares the dependencies of a project: its own package, the nearest one
 * above it, or the one above it that lists it as a workspace. Returns an empty package if none of
 * them exists.
 */
export async function findPackage({ root, folder }: Project): Promise<FoundPackage> {
  let nearest: FoundPackage | undefined
  for (let at = folder; ; at = dirname(at)) {
    const content = await readPackage(at)
    if (content !== undefined) {
      if (nearest === undefined || content.workspaces !== undefined)
        nearest = { folder: at, content }
      if ((await findFile(at, LOCK_FILES)) !== undefined) return nearest
    }
    if (at === root) return nearest ?? { folder, content: {} }
  }
}
