import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Returns the version of this program from its `package.json`. */
export function readVersion(): string {
  return readPackage().version
}

/** Returns the root folder of this program, for sources and for `dist`. */
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
      // This folder has no package.json.
    }
    const parent = dirname(folder)
    if (parent === folder)
      throw new Error(`no package.json of mx-gateway above ${import.meta.dirname}`)
    folder = parent
  }
}
