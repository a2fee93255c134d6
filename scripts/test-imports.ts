/**
 * Imports between the compiled modules of the repository: which tests run in one process with others, and which a change affects.
 * A module that is named by `new URL('…', import.meta.url)` counts as imported: tests start programs by it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { ROOT } from './root.ts'

const SPECIFIER =
  /(?:^|\n)(?:import|export)\b[^'"\n]*?['"]([^'"\n]+)['"]|\b(?:import|new URL)\(\s*['"]([^'"\n]+)['"]/g
/** The bundled programs stand for the modules that they bundle. */
const BUNDLES: Readonly<Record<string, string>> = {
  'cli/bundle/mx.js': 'cli/main.js',
  'bundle/index.js': 'sdk/index.js',
  'bundle/registry.js': 'platform/registry.js',
  'bundle/testing.js': 'sdk/testing.js',
}

const imports = new Map<string, readonly string[]>()

/** Modules that one imports: of the repository relative to `dist`, others by their specifier. */
function readImports(module: string): readonly string[] {
  const known = imports.get(module)
  if (known !== undefined) return known
  const text = readFileSync(join(ROOT, 'dist', module), 'utf8')
  const found = [...text.matchAll(SPECIFIER)].map(([, from, dynamic]) => from ?? dynamic!)
  const resolved = found.map((name) => {
    if (!name.startsWith('.')) return name
    const path = relative(ROOT, join(ROOT, dirname(module), name)).replace(/\.tsx?$/, '.js')
    return BUNDLES[path] ?? path
  })
  imports.set(module, resolved)
  return resolved
}

/** Everything a module imports, itself included: modules relative to `dist`, packages by name. */
function listClosure(module: string): ReadonlySet<string> {
  const closure = new Set([module])
  for (const name of closure) {
    if (!name.endsWith('.js') || !existsSync(join(ROOT, 'dist', name))) continue
    for (const imported of readImports(name)) closure.add(imported)
  }
  return closure
}

const toModule = (source: string): string => source.replace(/\.tsx?$/, '.js')

/** Whether a test starts processes: it, or a module of `test/` that it imports. */
export function startsProcesses(test: string): boolean {
  return usesModule(test, /^node:(?:child_process|worker_threads|cluster)$/)
}

/** Whether a test needs µWebSockets: without it the gateway has the other listener, but who names this one has none. */
export function needsUws(test: string): boolean {
  return usesModule(test, /^core\/listener\/uws\/listener\.js$/)
}

/** Whether a test, or a module of `test/` that it imports, imports a module itself. */
function usesModule(test: string, module: RegExp): boolean {
  const closure = new Set([toModule(test)])
  for (const name of closure) {
    for (const imported of readImports(name)) {
      if (module.test(imported)) return true
      if (imported.startsWith('test/') && existsSync(join(ROOT, 'dist', imported)))
        closure.add(imported)
    }
  }
  return false
}

/**
 * Tests that changed files can affect. A changed module affects the tests that import it, directly or not. Any other file
 * affects the tests of its top-level folder; a file of the repository's root, all tests.
 */
export function listAffected(
  tests: readonly string[],
  changed: readonly string[],
): readonly string[] {
  const modules = new Set(changed.map(toModule).filter((file) => file.endsWith('.js')))
  const folders = changed
    .filter((file) => !toModule(file).endsWith('.js'))
    .map((file) => file.split('/')[0]!)
  if (
    folders.some(
      (folder) =>
        !readdirSync(ROOT, { withFileTypes: true }).some(
          (entry) => entry.isDirectory() && entry.name === folder,
        ),
    )
  )
    return tests
  return tests.filter(
    (test) =>
      folders.some(
        (folder) => test.startsWith(`test/${folder}/`) || test.startsWith(`${folder}/`),
      ) || [...listClosure(toModule(test))].some((module) => modules.has(module)),
  )
}
