/** Builds the front end of the dashboard into files with names of their content: `web/` to `dist/dashboard`. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { ROOT } from './root.ts'

/** Writes `index.html` and `assets/`; what was in the folder is gone. */
export async function buildWeb(outDir: string): Promise<void> {
  await build({
    configFile: false,
    root: join(ROOT, 'web'),
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      // Data in style sheets and pages would need a looser content security policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildWeb(join(ROOT, 'dist/dashboard'))
