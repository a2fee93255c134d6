import { join } from 'node:path'
import { badRequest } from '../../../sdk/errors.ts'
import { findAbove, readIfThere } from './files.ts'
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

/** The package that a project is, or is a part of; a folder without one is a package of no content. */
export async function findPackage(
  project: Project,
): Promise<{ readonly folder: string; readonly content: PackageFile }> {
  const folder = (await findAbove(project, 'package.json')) ?? project.folder
  return { folder, content: (await readPackage(folder)) ?? {} }
}
