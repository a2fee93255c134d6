import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A file that a browser loads before the first paint. */
export interface LoadedFile {
  readonly name: string
  readonly gzipBytes: number
}

/** Size limit of the first load, bytes. */
export const FIRST_LOAD_MAX_BYTES: number = 60 * 1024

const NAMED = /(?:src|href)="\/([^"]+)"/g
const STATIC_IMPORT = /(?:^|[;}])import(?:[^"'();]*?from)?["']\.\/([^"']+)["']/g

/**
 * Lists the files of the first load of a built front end: the document, the files it references, and their static
 * imports.
 */
export function listFirstLoad(folder: string): readonly LoadedFile[] {
  const names = new Set(['index.html'])
  for (const name of names) {
    const text = readFileSync(join(folder, name), 'utf8')
    const pattern = name.endsWith('.html') ? NAMED : STATIC_IMPORT
    const parent = name.endsWith('.html') ? '' : 'assets/'
    if (/\.(?:html|js)$/.test(name))
      for (const [, named] of text.matchAll(pattern)) names.add(parent + named)
  }
  return [...names].map((name) => ({
    name,
    gzipBytes: gzipSync(readFileSync(join(folder, name))).length,
  }))
}
