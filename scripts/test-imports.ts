/**
 * Finds imports between the compiled modules of the repository, which decide whether tests share a process and which
 * tests a change affects. `new URL('…', import.meta.url)` counts as an import, because tests start programs with it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { ROOT } from './root.ts'

const SPECIFIER =
  /(?:^|\n)(?:import|export)\b[^'"\n]*?['"]([^'"\n]+)['"]|\b(?:import|new URL)\(\s*['"]([^'"\n]+)['"]/g
/** Entry modules of the bundles. */
const BUNDLES: Readonly<Record<string, string>> = {
  'cli/bundle/mx.js': 'cli/main.js',
  'bundle/index.js': 'sdk/index.js',
  'bundle/registry.js': 'platform/registry.js',
  'bundle/testing.js': 'sdk/testing.js',
}

const imports = new Map<string, readonly string[]>()

/** Imports of a module: modules of the repository relative to `dist`, and other imports by specifier. */
function readImports(module: string): readonly string[] {
  const cached = imports.get(module)
  if (cached !== undefined) return cached
  const text = readFileSync(join(ROOT, 'dist', module), 'utf8')
  const specifiers = [...text.matchAll(SPECIFIER)].map(([, from, dynamic]) => from ?? dynamic!)
  const resolved = specifiers.map((name) => {
    if (!name.startsWith('.')) return name
    const path = relative(ROOT, join(ROOT, dirname(module), name)).replace(/\.tsx?$/, '.js')
    return BUNDLES[path] ?? path
  })
  imports.set(module, resolved)
  return resolved
}

/** Transitive imports of a module, including itself: modules relative to `dist`, and packages by name. */
function listClosure(module: string): ReadonlySet<string> {
  const closure = new Set([module])
  for (const name of closure) {
    if (!name.endsWith('.js') || !existsSync(join(ROOT, 'dist', name))) continue
    for (const imported of readImports(name)) closure.add(imported)
  }
  return closure
}

const toModule = (source: string): string => source.replace(/\.tsx?$/, '.js')

/** True if a test, or a module of `test/` that it imports, starts processes. */
export function startsProcesses(test: string): boolean {
  return usesModule(test, /^node:(?:child_process|worker_threads|cluster)$/)
}

/** True if a test imports the µWebSockets listener, which some Node.js versions cannot load. */
export function needsUws(test: string): boolean {
  return usesModule(test, /^core\/listener\/uws\/listener\.js$/)
}

/** True if a test, or a module of `test/` that it imports, directly imports a matching module. */
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
 * Lists the tests that changed files can affect. A module affects the tests that import it, directly or transitively.
 * Any other file affects the tests of its top-level folder. A file in the root of the repository affects all tests.
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
