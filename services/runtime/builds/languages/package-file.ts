import { dirname, join } from 'node:path'
import { badRequest } from '../../../../sdk/errors.ts'
import { findFile, readIfThere } from '../files.ts'
import type { Project } from './language.ts'

/** What builds read of a package.json. */
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

/** What names the very versions of packages. */
export const LOCK_FILES: readonly string[] = ['npm-shrinkwrap.json', 'package-lock.json']
const ID = 'runtime'

/** The package of a folder; undefined where it is none. @throws {ServiceError} 400 when it cannot be read. */
export async function readPackage(folder: string): Promise<PackageFile | undefined> {
  const text = await readIfThere(join(folder, 'package.json'))
  if (text === undefined) return undefined
  try {
    const content: unknown = JSON.parse(text)
    if (typeof content === 'object' && content !== null) return content as PackageFile
  } catch (error) {
    throw badRequest(ID, `package.json is no JSON: ${(error as Error).message}`, { cause: error })
  }
  throw badRequest(ID, 'package.json must hold an object')
}

/**
 * The package whose installation has what a project needs: its own, the nearest above, or the one above that it is a workspace of.
 * A folder without any is a package of no content.
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
