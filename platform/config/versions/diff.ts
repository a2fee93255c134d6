import { REDACTED, redactUserinfo, SECRET_NAME } from '../../../lib/text/redact.ts'
import type { ConfigChange } from '../../../services/gateway/config-versions.ts'
import { formatSpecifier, planPlugins } from '../../plugins/plan.ts'
import { SETTINGS, type Settings } from '../../settings/settings.ts'
import { SETTING_KEYS } from '../../settings/sources.ts'
import { listServices, toFullName } from '../configured-services.ts'
import type { ConfigFile, Configuration } from '../types.ts'

type Parts = Readonly<Record<string, unknown>>

const LISTED_SEPARATELY: readonly (keyof Settings)[] = ['backends', 'plugins']
const COMPARED: readonly (keyof ConfigFile)[] = [
  'folder',
  'settings',
  'services',
  'routes',
  'consumers',
  'plugins',
  'policies',
  'text',
  'references',
]
/** Source positions, which change with every inserted line. */
const POSITION = 'at'
const SUMMARY_MAX = 200

/** Lists the differences by name, with redacted secrets. */
export function diffConfigurations(
  before: Configuration,
  after: Configuration,
): readonly ConfigChange[] {
  const plugins = [listPlugins(before), listPlugins(after)] as const
  return [
    ...compare('route', listRoutes(before), listRoutes(after)),
    ...compare('service', listServiceParts(before), listServiceParts(after)),
    ...compare('consumer', listConsumers(before), listConsumers(after)),
    ...compare('plugin', ...plugins),
    ...compareOrder(...plugins),
    ...compareSettings(before, after),
    ...compareOthers(before, after),
  ]
}

/** Returns a one-line summary: `+route shop, -service go.mx.api.old, ~setting log_level`. */
export function summarizeChanges(changes: readonly ConfigChange[]): string {
  if (changes.length === 0) return 'no effective change'
  const signs = { added: '+', removed: '-', changed: '~' } as const
  const text = changes.map(({ kind, name, change }) => `${signs[change]}${kind} ${name}`).join(', ')
  return text.length <= SUMMARY_MAX ? text : `${text.slice(0, SUMMARY_MAX - 3)}...`
}

function listRoutes({ config }: Configuration): Map<string, Parts> {
  return new Map(config.routes.map(({ name, ...parts }) => [name, parts]))
}

function listConsumers({ config }: Configuration): Map<string, Parts> {
  return new Map(
    config.consumers.map(({ account, namespace, ...parts }) => [`${namespace}/${account}`, parts]),
  )
}

/** Returns services by full name. A flag replaces the service in the file. */
function listServiceParts(configuration: Configuration): Map<string, Parts> {
  const { settings, config } = configuration
  const services = new Map<string, Parts>()
  for (const { name, nodes } of listServices(configuration)) {
    const earlier = (services.get(name)?.['nodes'] ?? []) as readonly unknown[]
    services.set(name, { nodes: [...earlier, ...nodes] })
  }
  for (const { name, nodes, tls, timeouts: timeout, ...parts } of config.services) {
    const full = toFullName(name, settings.namespace)
    services.set(full, { ...parts, timeout, tls: tls?.id, ...services.get(full) })
  }
  return services
}

function listPlugins(configuration: Configuration): Map<string, Parts> {
  return new Map(
    planPlugins(configuration).map((plugin) => [formatSpecifier(plugin), plugin.options as Parts]),
  )
}

function compare(
  kind: ConfigChange['kind'],
  before: ReadonlyMap<string, Parts>,
  after: ReadonlyMap<string, Parts>,
): ConfigChange[] {
  const changes: ConfigChange[] = []
  for (const [name, parts] of after) {
    const earlier = before.get(name)
    if (earlier === undefined) changes.push({ kind, name, change: 'added', detail: '' })
    else {
      const names = findChangedParts(earlier, parts)
      if (names.length > 0)
        changes.push({ kind, name, change: 'changed', detail: names.map(toKey).join(', ') })
    }
  }
  for (const name of before.keys())
    if (!after.has(name)) changes.push({ kind, name, change: 'removed', detail: '' })
  return changes
}

function findChangedParts(before: Parts, after: Parts): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => name !== POSITION && !isEqual(before[name], after[name]),
  )
}

/** Returns the key in `mx.yaml`, for example `reply_timeout` for `replyTimeoutMs`. */
function toKey(name: string): string {
  return name.replace(/Ms$/, '').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function compareOrder(
  before: ReadonlyMap<string, Parts>,
  after: ReadonlyMap<string, Parts>,
): ConfigChange[] {
  const common = [...after.keys()].filter((name) => before.has(name))
  const earlier = [...before.keys()].filter((name) => after.has(name))
  if (isEqual(earlier, common)) return []
  return [
    { kind: 'order', name: 'plugins', change: 'changed', detail: [...after.keys()].join(', ') },
  ]
}

function compareSettings(before: Configuration, after: Configuration): ConfigChange[] {
  return SETTING_KEYS.flatMap((key): ConfigChange[] => {
    if (LISTED_SEPARATELY.includes(key) || isEqual(before.settings[key], after.settings[key]))
      return []
    const [from, to] = [toText(before, key), toText(after, key)]
    const setting = { kind: 'setting', name: SETTINGS[key].name } as const
    if (from === undefined && to !== undefined) return [{ ...setting, change: 'added', detail: to }]
    if (from !== undefined && to === undefined)
      return [{ ...setting, change: 'removed', detail: from }]
    return [{ ...setting, change: 'changed', detail: `${from ?? 'default'} -> ${to ?? 'default'}` }]
  })
}

/** Compares keys in the file that are neither settings nor lists of names, such as `errors`. */
function compareOthers(before: Configuration, after: Configuration): ConfigChange[] {
  return findChangedParts(listOthers(before), listOthers(after)).map((name) => ({
    ...{ kind: 'setting', name: toKey(name), change: 'changed', detail: '' },
  }))
}

/** Omits empty lists, which are equivalent to missing ones. */
function listOthers({ config }: Configuration): Parts {
  const others = Object.entries(config).filter(
    ([name, value]) =>
      !COMPARED.includes(name as keyof ConfigFile) && !(Array.isArray(value) && value.length === 0),
  )
  return { ...Object.fromEntries(others), ...config.policies }
}

/**
 * Returns the value as written, or undefined if it is not set. Values of references are redacted.
 */
function toText({ inputs, config }: Configuration, key: keyof Settings): string | undefined {
  const values = inputs.get(key)?.values
  if (values === undefined) return undefined
  const { name, kind, notInFile } = SETTINGS[key]
  const isSecret = kind !== 'switch' && (notInFile !== undefined || SECRET_NAME.test(name))
  if (isSecret) return REDACTED
  return values
    .map((value) => {
      const shown = config.references.hidden.hide(value)
      return shown === value && !config.text.includes(value) ? REDACTED : redactUserinfo(shown)
    })
    .join(',')
}

function isEqual(a: unknown, b: unknown): boolean {
  return toJson(a) === toJson(b)
}

function toJson(value: unknown): string | undefined {
  return JSON.stringify(value, (name, each) => (name === POSITION ? undefined : each))
}
