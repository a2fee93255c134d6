import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfExists } from '../files.ts'
import { MX_PACKAGE } from './link-mx.ts'
import { LOCK_FILES, type PackageFile } from './package-file.ts'

interface LockFile {
  readonly packages?: Record<string, PackageFile & { resolved?: string; link?: boolean }>
}

/**
 * Removes this package from the development dependencies and the lock file in a build's copy of a
 * project: `linkMx` provides the package, and its folder may exist only on the author's machine. A
 * package in `dependencies` is installed as declared.
 *
 * @returns the new content of `package.json`.
 */
export async function removeGatewayPackage({
  folder,
  content,
}: {
  readonly folder: string
  readonly content: PackageFile
}): Promise<PackageFile> {
  if (content.devDependencies?.[MX_PACKAGE] === undefined) return content
  const reduced = withoutGateway(content)
  await write(folder, 'package.json', reduced)
  for (const name of LOCK_FILES) {
    const text = await readIfExists(join(folder, name))
    if (text !== undefined) await removeLocked(folder, name, text)
  }
  return reduced
}

async function removeLocked(folder: string, name: string, text: string): Promise<void> {
  let lock: LockFile
  try {
    lock = JSON.parse(text) as LockFile
  } catch {
    // npm reports the error.
    return
  }
  const { '': root, ...packages } = lock.packages ?? {}
  if (root === undefined) return
  const entry = packages[`node_modules/${MX_PACKAGE}`]
  delete packages[`node_modules/${MX_PACKAGE}`]
  if (entry?.link && entry.resolved !== undefined) delete packages[entry.resolved]
  await write(folder, name, { ...lock, packages: { '': withoutGateway(root), ...packages } })
}

function withoutGateway(content: PackageFile): PackageFile {
  const { [MX_PACKAGE]: _, ...devDependencies } = content.devDependencies ?? {}
  return { ...content, devDependencies }
}

function write(folder: string, name: string, content: object): Promise<void> {
  return writeFile(join(folder, name), JSON.stringify(content, undefined, 2))
}
