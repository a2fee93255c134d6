import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import type { Plugin } from '../../core/chain.ts'
import {
  createPlugin,
  HOOKS,
  type PluginDefinition,
  type PluginEnv,
  type PluginScope,
  toPlugin,
} from '../../core/plugin/define.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { plugins } from '../../plugins/index.gen.ts'
import { convertOptions, type ReferencedOptions } from '../config/references/option-values.ts'
import { evaluatePlugin, formatOrigin } from './evaluate.ts'

/** A cached plugin file. */
interface LoadedFile {
  /** SHA-256 hashes of the file and its relative imports. */
  readonly hashes: ReadonlyMap<string, string>
  readonly exported: unknown
}

const loaded = new Map<string, LoadedFile>()
const EXPECTED_EXPORT = 'definePlugin(...), an object with hooks, or a function that returns one'

/**
 * Creates a plugin from its specifier and options.
 *
 * `specifier` is the name of a built-in plugin, a file (`./hello.ts`, relative to `env.configDir`),
 * or an installed package. The values of `references` are converted to the types that the plugin's
 * schema expects. A file is evaluated again only if it or one of its imports has changed.
 *
 * @param scope where the plugin is listed.
 * @throws {Error} with a one-line message: unknown name, missing file, syntax error with its line,
 * invalid export or option.
 */
export async function loadPlugin(
  specifier: string,
  options: unknown,
  env: PluginEnv,
  scope: PluginScope = 'gateway',
  references: ReferencedOptions = new Map(),
): Promise<Plugin> {
  const create = (definition: PluginDefinition): Plugin =>
    createPlugin(definition, convertOptions(options, references, definition.options), env, scope)
  if (Object.hasOwn(plugins, specifier)) return create(plugins[specifier]!)
  const file = findFile(specifier, resolve(env.configDir ?? '.'))
  const exported = await importFile(file, env)
  if (isDefinition(exported)) {
    try {
      return create(exported)
    } catch (error) {
      const { message, cause } = error as Error
      throw cause === undefined
        ? error
        : new Error(`${message}${formatOrigin(listSources(file), cause)}`, { cause })
    }
  }
  const name = toName(file)
  if (typeof exported === 'function') {
    try {
      return toPlugin(name, await exported(structuredClone(options ?? {}), env))
    } catch (error) {
      throw new Error(
        `plugin ${file}: ${messageOf(error)}${formatOrigin(listSources(file), error)}`,
        {
          cause: error,
        },
      )
    }
  }
  if (!isHooks(exported))
    throw new Error(
      `plugin ${file}: the default export must be ${EXPECTED_EXPORT}, got ${describe(exported)}`,
    )
  const names = Object.keys(options ?? {})
  if (names.length > 0) {
    throw new Error(
      `plugin ${file}: unexpected options ${names.join(', ')}; use definePlugin to declare options`,
    )
  }
  return toPlugin(name, exported)
}

/**
 * Returns the definition of a loaded plugin, or undefined if it has none or its file was removed.
 */
export function findPluginDefinition(
  specifier: string,
  configDir: string | undefined,
): PluginDefinition | undefined {
  if (Object.hasOwn(plugins, specifier)) return plugins[specifier]!
  try {
    const exported = loaded.get(findFile(specifier, resolve(configDir ?? '.')))?.exported
    return isDefinition(exported) ? exported : undefined
  } catch {
    return undefined
  }
}

/** Returns all files of loaded plugins, which are watched for changes. */
export function pluginFiles(): readonly string[] {
  return [...new Set([...loaded.values()].flatMap(({ hashes }) => [...hashes.keys()]))]
}

function findFile(specifier: string, folder: string): string {
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
    const file = resolve(folder, specifier)
    if (existsSync(file)) return file
    const suggestion = existsSync(dirname(file))
      ? suggest(basename(file), readdirSync(dirname(file)))
      : undefined
    throw new Error(
      `plugin file not found: ${file}${suggestion === undefined ? '' : `, did you mean ${join(dirname(file), suggestion)}?`}`,
    )
  }
  try {
    return createRequire(join(folder, 'mx.yaml')).resolve(specifier)
  } catch (error) {
    const suggestion = suggest(specifier, Object.keys(plugins))
    const hint =
      suggestion === undefined
        ? `known: ${Object.keys(plugins).join(', ')}.`
        : `did you mean ${suggestion}?`
    throw new Error(
      `unknown plugin "${specifier}": neither a built-in plugin nor a package installed in ${folder}; ${hint} To load a file, use ./${specifier}`,
      { cause: error },
    )
  }
}

async function importFile(file: string, { log }: PluginEnv): Promise<unknown> {
  const cached = loaded.get(file)
  if (cached !== undefined && [...cached.hashes].every(([path, hash]) => hashFile(path) === hash))
    return cached.exported
  const { exports, sources } = await evaluatePlugin(file)
  if (isModule(exports) && !('default' in exports)) {
    const names = Object.keys(exports)
    throw new Error(
      `plugin ${file}: no default export${names.length > 0 ? `, only ${names.join(', ')}` : ''}; export ${EXPECTED_EXPORT} as default`,
    )
  }
  const exported = isModule(exports) ? exports['default'] : exports
  const hashes = new Map([...sources].map(([path, source]) => [path, hash(source)]))
  if (cached !== undefined) log.info({ file }, 'plugin file reloaded')
  loaded.set(file, { hashes, exported })
  return exported
}

function listSources(file: string): Iterable<string> {
  return loaded.get(file)?.hashes.keys() ?? []
}

function hashFile(path: string): string | undefined {
  try {
    return hash(readFileSync(path))
  } catch {
    return undefined
  }
}

function hash(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('base64')
}

/** Returns whether a value is an ES module compiled to CommonJS. */
function isModule(exports: unknown): exports is Record<string, unknown> {
  return typeof exports === 'object' && exports !== null && '__esModule' in exports
}

function isDefinition(value: unknown): value is PluginDefinition {
  const { name, options, create } = (value ?? {}) as Record<string, unknown>
  return typeof name === 'string' && typeof options === 'object' && typeof create === 'function'
}

/**
 * Returns whether an object has a hook, possibly misspelled. {@link toPlugin} reports the problem.
 */
function isHooks(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (
    HOOKS.some((hook) => hook in value) ||
    Object.keys(value).some((key) => suggest(key, HOOKS) !== undefined)
  )
}

/** Derives a kebab-case name from a file name: `MyPlugin.ts` becomes `my-plugin`. */
function toName(file: string): string {
  const bare = basename(file).replace(/\.[^.]*$/, '')
  const kebab = bare
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .toLowerCase()
  return kebab.replace(/^[^a-z]+|-+$/g, '') || 'plugin'
}

function describe(value: unknown): string {
  if (value === null || typeof value !== 'object')
    return value === undefined ? 'undefined' : `a ${typeof value}`
  const keys = Object.keys(value)
  return keys.length === 0 ? 'an empty object' : `an object with ${keys.slice(0, 5).join(', ')}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^plugin "[^"]*": /, '') : String(error)
}
