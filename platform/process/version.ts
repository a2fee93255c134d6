import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The version of this program: that of its `package.json`. */
export function readVersion(): string {
  return readPackage().version
}

/** The folder of this program, from the sources as well as from `dist`. */
export function findRoot(): string {
  return readPackage().folder
}

function readPackage(): { folder: string; version: string } {
  let folder = import.meta.dirname
  for (;;) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      ) as Record<string, unknown>
      if (name === 'mx-gateway' && typeof version === 'string') return { folder, version }
    } catch {
      // No package.json in this folder: the next one up.
    }
    const parent = dirname(folder)
    if (parent === folder)
      throw new Error(`no package.json of mx-gateway above ${import.meta.dirname}`)
    folder = parent
  }
}
