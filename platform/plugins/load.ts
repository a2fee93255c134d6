import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import type { Plugin } from '../../core/chain.ts'
import {
  createPlugin,
  type PluginDefinition,
  type PluginEnv,
  toPlugin,
} from '../../core/plugin/define.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { plugins } from '../../plugins/index.gen.ts'
import { evaluatePlugin, formatOrigin } from './evaluate.ts'

/** A plugin file as it was last read. */
interface LoadedFile {
  /** SHA-256 of every file it is made of: the plugin's own and what it imports relatively. */
  readonly hashes: ReadonlyMap<string, string>
  readonly exported: unknown
}

const loaded = new Map<string, LoadedFile>()
const HOOKS: readonly (keyof Plugin)[] = ['onRequest', 'onRoute', 'onReply', 'onDone', 'close']
const WANTED = 'definePlugin(...), an object with hooks, or a function that returns one'

/**
 * Builds a plugin from what a configuration names and its options there.
 *
 * `specifier` is the name of a plugin of the gateway, a file (`./hello.ts`, relative to `env.configDir`), or an
 * installed package. A file is evaluated again only when it, or a file it imports, was edited.
 *
 * @throws {Error} with one clear line: unknown name, missing file, syntax error with its line, wrong export, wrong option.
 */
export async function loadPlugin(
  specifier: string,
  options: unknown,
  env: PluginEnv,
): Promise<Plugin> {
  if (Object.hasOwn(plugins, specifier)) return createPlugin(plugins[specifier]!, options, env)
  const file = findFile(specifier, resolve(env.configDir ?? '.'))
  const exported = await importFile(file)
  if (isDefinition(exported)) {
    try {
      return createPlugin(exported, options, env)
    } catch (error) {
      const { message, cause } = error as Error
      throw cause === undefined
        ? error
        : new Error(`${message}${formatOrigin(sourcesOf(file), cause)}`, { cause })
    }
  }
  const name = toName(file)
  if (typeof exported === 'function') {
    try {
      return toPlugin(name, await exported(structuredClone(options ?? {}), env))
    } catch (error) {
      throw new Error(
        `plugin ${file}: ${messageOf(error)}${formatOrigin(sourcesOf(file), error)}`,
        {
          cause: error,
        },
      )
    }
  }
  if (!isHooks(exported))
    throw new Error(
      `plugin ${file}: the default export must be ${WANTED}, got ${describe(exported)}`,
    )
  const given = Object.keys(options ?? {})
  if (given.length > 0) {
    throw new Error(
      `plugin ${file}: takes no options, got ${given.join(', ')}; declare it with definePlugin to give it some`,
    )
  }
  return toPlugin(name, exported)
}

/** What a plugin that was loaded declares; undefined: nothing, or its file is gone. */
export function findDefinition(
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

/** Every file that plugins were loaded from: what a reload on edit watches. */
export function pluginFiles(): readonly string[] {
  return [...new Set([...loaded.values()].flatMap(({ hashes }) => [...hashes.keys()]))]
}

function findFile(specifier: string, folder: string): string {
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
    const file = resolve(folder, specifier)
    if (existsSync(file)) return file
    const meant = existsSync(dirname(file))
      ? suggest(basename(file), readdirSync(dirname(file)))
      : undefined
    throw new Error(
      `plugin file not found: ${file}${meant === undefined ? '' : `, did you mean ${join(dirname(file), meant)}?`}`,
    )
  }
  try {
    return createRequire(join(folder, 'mx.yaml')).resolve(specifier)
  } catch (error) {
    const meant = suggest(specifier, Object.keys(plugins))
    const hint =
      meant === undefined ? `known: ${Object.keys(plugins).join(', ')}.` : `did you mean ${meant}?`
    throw new Error(
      `unknown plugin "${specifier}": no such name and no package installed near ${folder}; ${hint} A file is written ./${specifier}`,
      { cause: error },
    )
  }
}

async function importFile(file: string): Promise<unknown> {
  const before = loaded.get(file)
  if (before !== undefined && [...before.hashes].every(([path, hash]) => hashFile(path) === hash))
    return before.exported
  const { exports, sources } = await evaluatePlugin(file)
  if (isModule(exports) && !('default' in exports)) {
    const names = Object.keys(exports)
    throw new Error(
      `plugin ${file}: no default export${names.length > 0 ? `, only ${names.join(', ')}` : ''}; export ${WANTED} as default`,
    )
  }
  const exported = isModule(exports) ? exports['default'] : exports
  const hashes = new Map([...sources].map(([path, source]) => [path, hash(source)]))
  loaded.set(file, { hashes, exported })
  return exported
}

function sourcesOf(file: string): Iterable<string> {
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

/** Whether a value is the exports of an ES module in CommonJS form. */
function isModule(exports: unknown): exports is Record<string, unknown> {
  return typeof exports === 'object' && exports !== null && '__esModule' in exports
}

function isDefinition(value: unknown): value is PluginDefinition {
  const { name, options, create } = (value ?? {}) as Record<string, unknown>
  return typeof name === 'string' && typeof options === 'object' && typeof create === 'function'
}

/** Whether at least one hook is there, also a misspelt one: {@link toPlugin} says what is wrong with it. */
function isHooks(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (
    HOOKS.some((hook) => hook in value) ||
    Object.keys(value).some((key) => suggest(key, HOOKS) !== undefined)
  )
}

/** Kebab-case name from a file name: `MyPlugin.ts` is `my-plugin`. */
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
