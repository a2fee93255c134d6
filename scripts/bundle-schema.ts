/**
 * Bundles `core/schema.ts` and TypeBox into one file, replacing the output of `tsc`. See
 * `docs/decisions/2026-11-21-typebox-bundled.md`.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { ROOT } from './root.ts'

/** Writes the bundle with a source map and the TypeBox licence as its banner. */
export async function bundleSchema(outfile: string): Promise<void> {
  const license = await readFile(new URL('../license', import.meta.resolve('typebox')), 'utf8')
  await build({
    entryPoints: [join(ROOT, 'core/schema.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    banner: { js: `/*!\n${license.trim()}\n*/` },
    logLevel: 'warning',
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await bundleSchema(join(ROOT, 'dist/core/schema.js'))
