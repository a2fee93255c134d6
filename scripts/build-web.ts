/**
 * Builds the front end of the dashboard from `web/` into `dist/dashboard`, with content hashes in file names and
 * compressed variants.
 */

import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build, type Plugin } from 'vite'
import { ROOT } from './root.ts'

/** Modules shared by pages, except charts, which are large and used by only one page. */
const PART = /\/web\/(?:parts\/(?!chart)|[^/]+\.tsx?$)/
/** Files to compress. */
const TEXT = /\.(?:js|css|svg|html)$/

/**
 * Writes `index.html` and `assets/`, each file with a `.br` and a `.gz` variant. The folder is replaced atomically, so
 * that a running server sees either the old or the new build.
 */
export async function buildWeb(folder: string): Promise<void> {
  const draft = `${folder}-${process.pid}`
  const old = `${draft}-old`
  try {
    await bundle(draft)
    const names = await readdir(draft, { recursive: true })
    await Promise.all(
      names.filter((name) => TEXT.test(name)).map((name) => compress(join(draft, name))),
    )
    if (existsSync(folder)) await rename(folder, old)
    await rename(draft, folder)
  } finally {
    for (const obsolete of [draft, old]) await rm(obsolete, { recursive: true, force: true })
  }
}

function bundle(outDir: string): Promise<unknown> {
  return build({
    configFile: false,
    root: join(ROOT, 'web'),
    logLevel: 'warn',
    plugins: [rejectNode],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // Inline data in style sheets and pages would require a weaker content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        checks: { pluginTimings: false },
        // Otherwise, each module would be a separate file, and each page would require a dozen requests.
        output: { codeSplitting: { groups: [{ name: 'parts', test: PART, minShareCount: 2 }] } },
      },
    },
  })
}

/**
 * Rejects Node.js modules, because imports from outside `web/` must run in browsers. Type imports are already removed.
 */
const rejectNode: Plugin = {
  name: 'reject-node',
  enforce: 'pre',
  resolveId(id, importer) {
    if (isBuiltin(id)) this.error(`${importer} imports ${id}: it cannot be part of web/`)
  },
}

async function compress(file: string): Promise<void> {
  const bytes = await readFile(file)
  await Promise.all([
    promisify(brotliCompress)(bytes).then((packed) => writeFile(`${file}.br`, packed)),
    promisify(gzip)(bytes, { level: 9 }).then((packed) => writeFile(`${file}.gz`, packed)),
  ])
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb(join(ROOT, 'dist/dashboard'))
