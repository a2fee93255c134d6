import { dirname, resolve } from 'node:path'
import { isMap, isSeq } from 'yaml'
import { suggest } from '../../lib/text/did-you-mean.ts'
import type { ServerCommand } from '../settings/setting.ts'
import {
  SETTINGS,
  type SettingInput,
  type Settings,
  type SettingsInput,
} from '../settings/settings.ts'
import {
  explainOtherSource,
  findSetting,
  keysOf,
  SettingsError,
  splitList,
} from '../settings/sources.ts'
import { readErrors } from './actions/errors.ts'
import { findUnknownListeners, toListenSettings } from './listen/main-listener.ts'
import { readListen } from './listen/parse-listen.ts'
import { readConsumers } from './parse-consumers.ts'
import { readPlugins } from './parse-plugins.ts'
import { readRoutes } from './parse-routes.ts'
import { POLICY_KEYS, readPolicies } from './policies/parse-policies.ts'
import { readConfigText } from './read-config-text.ts'
import { References } from './references/references.ts'
import { readServices } from './services/parse-services.ts'
import type {
  ConfigFile,
  ConfiguredConsumer,
  ConfiguredListener,
  ConfiguredRoute,
  ConfiguredService,
  ErrorPageEntry,
  PluginEntry,
} from './types.ts'
import { type YamlEntry, YamlSource } from './yaml-source.ts'

/** Settings whose paths are relative to the folder of the configuration file. */
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
/**
 * Reads and parses the configuration file of a command.
 *
 * @throws {SettingsError} with the file, line and column of each problem.
 */
export async function readConfig(
  file: string,
  command: ServerCommand = 'api',
  references?: References,
): Promise<ConfigFile> {
  return parseConfig(await readConfigText(file), file, command, references)
}

/** Returns the settings among `keys` that have valid values in a file. Secrets are not resolved. */
export function parseSome(
  text: string,
  file: string,
  references: References,
  keys: readonly (keyof Settings)[],
): SettingsInput {
  const source = new YamlSource(text, file, references)
  const { root } = source
  const found = (isMap(root) ? source.entries(root) : []).flatMap((entry) => {
    const key = findSetting(entry.name)
    if (key === undefined || !keys.includes(key)) return []
    const setting = readSetting(source, key, entry, '')
    return setting === undefined ? [] : [[key, setting] as const]
  })
  return new Map(found)
}

/**
 * Parses a configuration. Errors name `file`.
 *
 * @param references resolves environment variables, files and secrets. @default an empty
 * environment
 */
export function parseConfig(
  text: string,
  file: string,
  command: ServerCommand = 'api',
  references: References = new References({}),
): ConfigFile {
  references.begin()
  const source = new YamlSource(text, file, references)
  // After a syntax error, or if there is no value, further problems would be misleading.
  if (source.problems.length > 0) throw new SettingsError(source.problems)
  const folder = dirname(resolve(file))
  const settings = new Map<keyof Settings, SettingInput>()
  let services: readonly ConfiguredService[] = []
  let routes: readonly ConfiguredRoute[] = []
  let consumers: readonly ConfiguredConsumer[] = []
  let listen: readonly ConfiguredListener[] = []
  let plugins: readonly PluginEntry[] | undefined
  let errors: readonly ErrorPageEntry[] = []
  const policyEntries = new Map<string, YamlEntry>()
  const { root } = source
  // Added only for the first unknown key, because in the file of a service every key is unknown.
  let hint = `: 'mx ${command} --help' lists the settings. If the file belongs to a service, start mx ${command} in another folder or with --config`
  if (root === undefined) {
    // The file is most likely being written, which must not remove all services.
    source.report(root, 'the file contains no setting; add one or remove the file')
  } else if (!isMap(root))
    source.report(root, 'expected a map of settings, such as "address: 127.0.0.1:8080"')
  for (const entry of isMap(root) ? source.entries(root) : []) {
    const key = findSetting(entry.name)
    const elsewhere =
      key === undefined ? undefined : (explainOtherSource(key, command) ?? SETTINGS[key].notInFile)
    if (entry.name === 'services') services = readServices(source, entry, folder)
    else if (entry.name === 'routes') routes = readRoutes(source, entry, folder)
    else if (entry.name === 'consumers') consumers = readConsumers(source, entry, folder)
    else if (entry.name === 'listen') listen = readListen(source, entry, folder)
    else if (entry.name === 'plugins') plugins = readPlugins(source, entry, folder)
    else if (entry.name === 'errors') errors = readErrors(source, 'the gateway', entry, folder)
    else if (POLICY_KEYS.includes(entry.name)) policyEntries.set(entry.name, entry)
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
  const policies = readPolicies(source, 'the gateway', policyEntries)
  source.problems.push(...findUnknownListeners(routes, listen))
  for (const [key, input] of toListenSettings(listen)) {
    const conflict = settings.get(key)
    if (conflict !== undefined)
      source.problems.push(
        `${conflict.source} cannot be combined with listen: set it in its entries`,
      )
    settings.set(key, input)
  }
  if (source.problems.length > 0) throw new SettingsError(source.problems)
  return {
    ...{ folder, settings, services, routes, consumers, listen },
    ...{ plugins, errors, policies, text, references },
  }
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
  const names = keys.map((key) => SETTINGS[key].name)
  return [
    'listen',
    'services',
    'routes',
    'consumers',
    'plugins',
    'errors',
    ...POLICY_KEYS,
    ...names,
  ]
}

function unknownKey(name: string, known: readonly string[], hint: string): string {
  const suggestion = suggest(name, known)
  return `unknown key "${name}"${suggestion === undefined ? hint : `, did you mean "${suggestion}"?`}`
}
