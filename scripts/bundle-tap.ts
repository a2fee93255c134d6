/**
 * Bundles tap for the compiled tests, because reading its 240 modules in each process took longer than most tests. See
 * `docs/decisions/2026-11-22-tests-run-compiled.md`.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { CURRENT_TEST } from './current-test.ts'
import { ROOT } from './root.ts'

/** Writes a package `tap` below `folder`, to which `import 'tap'` resolves first. */
export async function bundleTap(folder: string): Promise<void> {
  // tap omits packages of this scope from stack traces.
  const bundled = join(folder, 'node_modules/@tapjs/bundled')
  await build({
    entryPoints: [fileURLToPath(import.meta.resolve('tap'))],
    outfile: join(bundled, 'index.js'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      js: "import { createRequire as toRequire } from 'node:module'\nconst require = toRequire(import.meta.url)",
    },
    logLevel: 'warning',
  })
  await writePackage(bundled, '@tapjs/bundled')
  const tap = join(folder, 'node_modules/tap')
  await mkdir(tap, { recursive: true })
  await writeFile(
    join(tap, 'index.js'),
    `import root from '@tapjs/bundled'
export * from '@tapjs/bundled'
const current = Symbol.for('${CURRENT_TEST.description}')
export default new Proxy(root, {
  get(_, name) {
    const test = globalThis[current] ?? root
    const value = Reflect.get(test, name, test)
    return typeof value === 'function' ? value.bind(test) : value
  },
})
`,
  )
  await writePackage(tap, 'tap')
}

function writePackage(folder: string, name: string): Promise<void> {
  const text = JSON.stringify({ name, type: 'module', exports: './index.js' })
  return writeFile(join(folder, 'package.json'), text)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleTap(join(ROOT, 'dist'))
