/** Builds the front end of the dashboard: `web/` to `dist/dashboard`, files named by their content, each compressed beside it. */

import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { build, type Plugin } from 'vite'
import { ROOT } from './root.ts'

/** What pages share; charts are larger than all others, and on one page. */
const PART = /\/web\/(?:parts\/(?!chart)|[^/]+\.tsx?$)/
/** What is worth compressing. */
const TEXT = /\.(?:js|css|svg|html)$/

/**
 * Writes `index.html` and `assets/`, with a `.br` and a `.gz` of each; what was in the folder is gone. It is made beside the
 * folder and takes its place whole: a server that runs meanwhile finds the one or the other.
 */
export async function buildWeb(folder: string): Promise<void> {
  const made = `${folder}-${process.pid}`
  const old = `${made}-old`
  try {
    await bundle(made)
    const names = await readdir(made, { recursive: true })
    await Promise.all(
      names.filter((name) => TEXT.test(name)).map((name) => compress(join(made, name))),
    )
    if (existsSync(folder)) await rename(folder, old)
    await rename(made, folder)
  } finally {
    for (const left of [made, old]) await rm(left, { recursive: true, force: true })
  }
}

function bundle(outDir: string): Promise<unknown> {
  return build({
    configFile: false,
    root: join(ROOT, 'web'),
    logLevel: 'warn',
    plugins: [refuseNode],
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // Data in style sheets and pages would need a looser content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        checks: { pluginTimings: false },
        // Else each part is a file, and each page a dozen requests.
        output: { codeSplitting: { groups: [{ name: 'parts', test: PART, minShareCount: 2 }] } },
      },
    },
  })
}

/** What pages take of the program must run in browsers; types alone are gone by now. */
const refuseNode: Plugin = {
  name: 'refuse-node',
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
