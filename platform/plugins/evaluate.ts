import { readFile } from 'node:fs/promises'
import { createRequire, Module } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure } from 'esbuild'
import { useEsbuild } from '../../lib/build/esbuild.ts'

export interface EvaluatedPlugin {
  readonly exports: unknown
  /** Contents of the file and its relative imports. */
  readonly sources: ReadonlyMap<string, Uint8Array>
}

/**
 * Part of Node's CommonJS module that is missing from its types. TypeScript loaders have used it
 * since Node 0.x.
 */
interface CompilingModule {
  exports: unknown
  _compile(code: string, filename: string, format: 'commonjs'): void
}

/**
 * Matches esbuild's import of a package in a `"type": "module"` package. esbuild assumes CommonJS
 * and returns the entire module as `default`. Without the flag, `default` of an ES module is its
 * default export.
 */
const NODE_INTEROP = /__toESM\((require\("[^"\n]+"\)), 1\)/g

let evaluated = 0

/**
 * Evaluates a JavaScript or TypeScript plugin with its relative imports, without a build step.
 *
 * esbuild bundles the files into one CommonJS module, which is evaluated outside the module cache:
 * Node never releases an imported ES module, so `import()` after each edit would leak memory.
 * `mx-gateway` resolves to this program, so that both sides share its classes and a plugin requires
 * no installed package.
 *
 * @throws {Error} with file, line and column of a syntax error or an error in the top-level code.
 */
export async function evaluatePlugin(file: string): Promise<EvaluatedPlugin> {
  const { code, sources } = await bundle(file)
  // Imported lazily, because a gateway without plugin files does not need the SDK.
  const sdk = await import('../../sdk/index.ts')
  // Stack traces then contain the lines of the source files.
  process.setSourceMapsEnabled(true)
  // Node finds source maps by name. A reused name would map lines of earlier versions to the new
  // source.
  const name = `${file}?${++evaluated}`
  const module = new Module(name) as unknown as CompilingModule & { pluginRequire: unknown }
  const requireNative = createRequire(file)
  module.pluginRequire = (id: string): unknown => (id === 'mx-gateway' ? sdk : requireNative(id))
  try {
    module._compile(code, name, 'commonjs')
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const origin = formatOrigin(sources.keys(), error)
    throw new Error(`plugin ${file}: failed while loading: ${message}${origin}`, { cause: error })
  }
  return { exports: module.exports, sources }
}

/**
 * Returns where in the sources of a plugin an error was thrown, as ` (file:line:column)`; empty if
 * it was thrown elsewhere.
 */
export function formatOrigin(sources: Iterable<string>, error: unknown): string {
  const frames = error instanceof Error ? (error.stack ?? '').split('\n    at ').slice(1) : []
  const files = [...sources]
  for (const frame of frames) {
    const source = files.find((path) => frame.includes(`${path}:`))
    if (source === undefined) continue
    const position = /^:\d+:\d+/.exec(frame.slice(frame.indexOf(source) + source.length))?.[0]
    if (position !== undefined) return ` (${source}${position})`
  }
  return ''
}

async function bundle(file: string): Promise<{ code: string; sources: Map<string, Uint8Array> }> {
  const sources = new Map<string, Uint8Array>()
  try {
    const { outputFiles } = await useEsbuild(({ build }) =>
      build({
        entryPoints: [file],
        absWorkingDir: dirname(file),
        outfile: `${file}.cjs`,
        write: false,
        bundle: true,
        packages: 'external',
        platform: 'node',
        format: 'cjs',
        target: 'node20',
        // Compiles import() of a package to the same require.
        supported: { 'dynamic-import': false },
        sourcemap: 'inline',
        sourcesContent: false,
        logLevel: 'silent',
        // Node drops the source map with the module. This reference retains the module as long as
        // its functions are in use.
        banner: { js: 'var require = (id) => module.pluginRequire(id);' },
        define: {
          __filename: JSON.stringify(file),
          'import.meta.url': JSON.stringify(pathToFileURL(file).href),
          'import.meta.filename': JSON.stringify(file),
          'import.meta.dirname': JSON.stringify(dirname(file)),
        },
        plugins: [
          {
            name: 'sources',
            setup(hooks) {
              // Read here, so that the hash matches the compiled source even while an editor is
              // saving the file.
              hooks.onLoad({ filter: /.*/ }, async ({ path }) => {
                const contents = await readFile(path)
                sources.set(path, contents)
                return { contents, loader: 'default' }
              })
            },
          },
        ],
      }),
    )
    return { code: outputFiles[0]!.text.replace(NODE_INTEROP, '__toESM($1)'), sources }
  } catch (error) {
    throw new Error(formatFailure(file, error), { cause: error })
  }
}

/** Returns the first error as file:line:column, the format that editors and terminals link. */
function formatFailure(file: string, error: unknown): string {
  const first = (error as Partial<BuildFailure>).errors?.[0]
  if (first === undefined)
    return `plugin ${file}: ${error instanceof Error ? error.message : String(error)}`
  const { location, text } = first
  return location === null
    ? `plugin ${file}: ${text}`
    : `plugin ${file}: ${location.file}:${location.line}:${location.column + 1}: ${text}`
}
