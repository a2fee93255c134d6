/**
 * Bundles the command line into a few files of the build, beside what `tsc` wrote: reading 120 modules took longer than what
 * commands do. Why: `docs/decisions/2026-11-22-the-command-line-is-bundled.md`.
 */
import { rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { ROOT } from './root.ts'

/** What is loaded from the build as it is: the platform, and the commands that start it. */
const APART =
  /^(?:(?:platform|services|plugins|resolvers|handlers|adapters)\/|core\/schema\.ts$|cli\/commands\/(?:server|api)\.ts$)/

/** Writes `mx.js` and the files it loads into a folder two below that of the build; what was there is gone. */
export async function bundleCli(outdir: string): Promise<void> {
  await rm(outdir, { recursive: true, force: true })
  await build({
    entryPoints: { mx: join(ROOT, 'cli/main.ts') },
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    sourcesContent: false,
    plugins: [keepApart],
    logLevel: 'warning',
  })
}

const keepApart: Plugin = {
  name: 'keep-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.{1,2}\// }, ({ path, resolveDir }) => {
      const source = relative(ROOT, resolve(resolveDir, path))
      if (!APART.test(source)) return undefined
      return { path: `../../${source.replace(/\.ts$/, '.js')}`, external: true }
    })
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await bundleCli(join(ROOT, 'dist/cli/bundle'))
