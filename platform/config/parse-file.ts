import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isMap, isSeq } from 'yaml'
import { suggest } from '../../lib/text/did-you-mean.ts'
import type { ServerCommand } from '../settings/setting.ts'
import { SETTINGS, type SettingInput, type Settings } from '../settings/settings.ts'
import {
  explainElsewhere,
  findSetting,
  keysOf,
  SettingsError,
  splitList,
} from '../settings/sources.ts'
import { readErrors } from './actions/errors.ts'
import { readConsumers } from './parse-consumers.ts'
import { readPlugins } from './parse-plugins.ts'
import { readRoutes } from './parse-routes.ts'
import { readServices } from './services/parse-services.ts'
import type {
  ConfigFile,
  ConfiguredConsumer,
  ConfiguredRoute,
  ConfiguredService,
  ErrorPageEntry,
  PluginEntry,
} from './types.ts'
import { type YamlEntry, YamlSource } from './yaml-source.ts'

/** Settings with paths relative to the folder of the configuration file. */
const FILE_SETTINGS: readonly (keyof Settings)[] = [
  'tlsCertFiles',
  'tlsKeyFiles',
  'tlsClientCa',
  'acmeCaFile',
  'accessLog',
  'dataDir',
]
/** Values that are not relative paths: keywords and paths in the home folder. */
const NO_FILE = /^(?:on|off|true|false|self-signed|~(?:\/.*)?)$/s
/** Errors of the file system that need no code. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
}

/**
 * Reads and parses the configuration file of a command.
 *
 * @throws {SettingsError} with file, line and column of every problem.
 */
export async function readConfig(
  file: string,
  command: ServerCommand = 'api',
): Promise<ConfigFile> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new SettingsError([`cannot read configuration file ${file}: ${toReason(error, file)}`], {
      cause: error,
    })
  }
  return parseConfig(text, file, command)
}

function toReason(error: unknown, file: string): string {
  const { message, code = '' } = error as NodeJS.ErrnoException
  const target = findMissingTarget(file)
  if (target !== undefined) return `its link target ${target} does not exist`
  return REASONS[code] ?? message
}

/** Target of a dangling symbolic link. */
function findMissingTarget(file: string): string | undefined {
  const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink && !existsSync(file) ? readlinkSync(file) : undefined
}

/** Parses a configuration; errors quote `file`. */
export function parseConfig(
  text: string,
  file: string,
  command: ServerCommand = 'api',
): ConfigFile {
  const source = new YamlSource(text, file)
  // After a syntax error, further problems would be misleading.
  if (source.problems.length > 0) throw new SettingsError(source.problems)
  const folder = dirname(resolve(file))
  const settings = new Map<keyof Settings, SettingInput>()
  let services: readonly ConfiguredService[] = []
  let routes: readonly ConfiguredRoute[] = []
  let consumers: readonly ConfiguredConsumer[] = []
  let plugins: readonly PluginEntry[] | undefined
  let errors: readonly ErrorPageEntry[] = []
  const { root } = source
  // Only for the first unknown key: in the file of a service every key is unknown.
  let hint = `: 'mx ${command} --help' lists the settings. If the file belongs to a service, start mx ${command} in another folder or with --config`
  if (root === undefined) {
    // Most likely a write in progress, which must not remove every service.
    source.report(root, 'the file contains no setting; add one or remove the file')
  } else if (!isMap(root))
    source.report(root, 'expected a map of settings, such as "address: 127.0.0.1:8080"')
  for (const entry of isMap(root) ? source.entries(root) : []) {
    const key = findSetting(entry.name)
    const elsewhere =
      key === undefined ? undefined : (explainElsewhere(key, command) ?? SETTINGS[key].notInFile)
    if (entry.name === 'services') services = readServices(source, entry, folder)
    else if (entry.name === 'routes') routes = readRoutes(source, entry, folder)
    else if (entry.name === 'consumers') consumers = readConsumers(source, entry, folder)
    else if (entry.name === 'plugins') plugins = readPlugins(source, entry, folder)
    else if (entry.name === 'errors') errors = readErrors(source, 'the gateway', entry, folder)
    else if (key === undefined) {
      source.report(entry.key, unknownKey(entry.name, toKeys(command), hint))
      hint = ''
    } else if (elsewhere !== undefined)
      source.report(entry.key, `key "${entry.name}" is not allowed in this file: ${elsewhere}`)
    else if (settings.has(key)) source.report(entry.key, `duplicate key "${SETTINGS[key].name}"`)
    else {
      const setting = readSetting(source, key, entry, folder)
      if (setting !== undefined) settings.set(key, setting)
    }
  }
  if (source.problems.length > 0) throw new SettingsError(source.problems)
  return { folder, settings, services, routes, consumers, plugins, errors, text }
}

function readSetting(
  source: YamlSource,
  key: keyof Settings,
  { key: keyNode, value }: YamlEntry,
  folder: string,
): SettingInput | undefined {
  const { name, kind, placeholder, parse } = SETTINGS[key]
  const isList = kind === 'list' && isSeq(source.follow(value))
  const single = source.text(value)
  if (!isList && single === undefined) {
    const got = isSeq(source.follow(value)) ? 'a list' : 'a map'
    source.report(
      value ?? keyNode,
      source.follow(value) === undefined
        ? `${name} needs a value (${placeholder})`
        : `${name} must be ${kind === 'list' ? 'a list' : 'one value'} (${placeholder}), got ${got}`,
    )
    return undefined
  }
  const before = source.problems.length
  const values = isList
    ? source.texts(value, name).map(({ text }) => text)
    : kind === 'list'
      ? splitList(key, single!)
      : [single!]
  if (source.problems.length > before) return undefined
  try {
    parse(values)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    source.report(value, `${name} ${error.message}`)
    return undefined
  }
  const isFile = FILE_SETTINGS.includes(key) && !NO_FILE.test(values[0]!)
  return {
    source: `${source.at(value)}: ${name}`,
    values: isFile ? values.map((each) => resolve(folder, each)) : values,
  }
}

function toKeys(command: ServerCommand): readonly string[] {
  const keys = keysOf(command).filter((key) => SETTINGS[key].notInFile === undefined)
  return ['services', 'routes', 'plugins', 'errors', ...keys.map((key) => SETTINGS[key].name)]
}

function unknownKey(name: string, known: readonly string[], hint: string): string {
  const suggestion = suggest(name, known)
  return `unknown key "${name}"${suggestion === undefined ? hint : `, did you mean "${suggestion}"?`}`
}
