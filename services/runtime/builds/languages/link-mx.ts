import { lstat, mkdir, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Name of the npm package that programs import the SDK from. */
export const MX_PACKAGE = 'mx-gateway'
/** Folder of this package. */
export const MX_FOLDER: string = dirname(
  fileURLToPath(import.meta.resolve('mx-gateway/package.json')),
)

/**
 * Makes `import ... from 'mx-gateway'` below a folder resolve to this package, unless another one
 * is installed there.
 */
export async function linkMx(folder: string): Promise<void> {
  const link = join(folder, 'node_modules', MX_PACKAGE)
  const existing = await lstat(link).catch(() => undefined)
  if (existing?.isDirectory() === true) return
  await rm(link, { force: true })
  await mkdir(dirname(link), { recursive: true })
  await symlink(MX_FOLDER, link, 'dir')
}
