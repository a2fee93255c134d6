import { isSeq } from 'yaml'
import { parsePath } from '../../core/path/pattern.ts'
import { type PathTemplate, parseTemplate } from '../../core/path/template.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { HANDLERS, toHost, toMethod } from '../../resolvers/endpoint/declared.ts'
import { readErrors } from './actions/errors.ts'
import { readFilesAction } from './actions/files.ts'
import { readMap, readText } from './actions/read-map.ts'
import { readPlugins } from './parse-plugins.ts'
import { readConcurrency, readHedge, readRetry } from './policies/parse-policies.ts'
import { readPriority } from './services/priority.ts'
import { readTimeouts } from './services/values.ts'
import type { ConfiguredRoute, RouteAction, RouteMatch, RouteValue } from './types.ts'
import type { YamlEntry, YamlSource } from './yaml-source.ts'

export const ROUTE_KEYS: readonly string[] = [
  ...['name', 'match', 'service', 'endpoint', 'handler', 'strip_prefix', 'add_prefix', 'rewrite'],
  ...[
    'redirect',
    'respond',
    'files',
    'timeout',
    'retry',
    'hedge',
    'concurrency',
    'priority',
    'plugins',
    'errors',
  ],
  'listeners',
]
export const MATCH_KEYS: readonly string[] = [
  'host',
  'path',
  'method',
  'headers',
  'query',
  'client',
]
export const ACTIONS: readonly string[] = ['service', 'redirect', 'respond', 'files']
const SERVICE_KEYS = ['endpoint', 'handler', 'strip_prefix', 'add_prefix', 'rewrite']
const REDIRECT_STATUSES = ['301', '302', '303', '307', '308']
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Reads `routes:`. */
export function readRoutes(
  source: YamlSource,
  { key, value }: YamlEntry,
  folder: string,
): readonly ConfiguredRoute[] {
  const list = source.follow(value)
  if (!isSeq(list)) {
    source.report(value ?? key, 'routes must be a list')
    return []
  }
  const names = new Set<string>()
  return list.items.flatMap((item, i) => {
    const route = readRoute(source, item, `${i + 1}`, folder)
    if (route === undefined) return []
    if (names.has(route.name)) source.report(item, `duplicate route name "${route.name}"`)
    names.add(route.name)
    return [route]
  })
}

function readRoute(
  source: YamlSource,
  item: unknown,
  position: string,
  folder: string,
): ConfiguredRoute | undefined {
  const label = `route ${position}`
  const before = source.problems.length
  const entries = readMap(source, label, { key: item, value: item }, ROUTE_KEYS)
  if (source.problems.length > before) return undefined
  const name = readText(source, entries.get('name'), 'name') ?? position
  if (!NAME.test(name))
    source.report(
      item,
      `name of ${label} must be letters, digits, dots, dashes or underscores, at most 100, got ${JSON.stringify(name)}`,
    )
  const listeners = entries.get('listeners')
  const match = {
    ...readMatch(source, label, entries.get('match')),
    listeners: listeners
      ? source.texts(listeners.value, `listeners of ${label}`).map(({ text }) => text)
      : [],
  }
  const action = readAction(source, label, item, entries, match, folder)
  const plugins = entries.get('plugins')
  const listed = plugins === undefined ? [] : readPlugins(source, plugins, folder)
  const errors = entries.get('errors')
  const pages = errors === undefined ? [] : readErrors(source, label, errors, folder)
  const timeout = entries.get('timeout')
  const timeouts = readTimeouts(source, label, timeout, ['request', 'response', 'idle'])
  if (timeout !== undefined && action !== undefined && action.kind !== 'service')
    source.report(timeout.key, `timeout of ${label} requires service`)
  const retry = entries.get('retry')
  const hedge = entries.get('hedge')
  const concurrency = entries.get('concurrency')
  const priority = readPriority(source, label, entries.get('priority'))
  for (const policy of [retry, hedge, concurrency])
    if (policy !== undefined && action !== undefined && action.kind !== 'service')
      source.report(policy.key, `${policy.name} of ${label} requires service`)
  const policies = {
    ...(retry && { retry: readRetry(source, label, retry) }),
    ...(hedge && { hedge: readHedge(source, label, hedge) }),
    ...(concurrency && { concurrency: readConcurrency(source, label, concurrency) }),
  }
  if (source.problems.length > before || action === undefined) return undefined
  return {
    ...{ name, match, action, timeouts, plugins: listed, errors: pages },
    ...(Object.keys(policies).length > 0 && { policies }),
    ...(priority && { priority }),
    at: source.at(item),
  }
}

function readMatch(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
): Omit<RouteMatch, 'listeners'> {
  if (entry === undefined)
    return { paths: [ANY_PATH], hosts: ['*'], methods: [], headers: [], query: [], clients: [] }
  const entries = readMap(source, `match of ${label}`, entry, MATCH_KEYS)
  const list = <T>(key: string, parse: (text: string) => T): T[] => {
    const { value } = entries.get(key) ?? {}
    if (value === undefined) return []
    return source
      .texts(value, `${key} of ${label}`)
      .flatMap(
        ({ node, text }) => attempt(source, node, `${key} of ${label}: `, () => parse(text)) ?? [],
      )
  }
  const values = (key: string, toName: (name: string) => string): RouteValue[] => {
    const found = entries.get(key)
    if (found === undefined) return []
    return [...readMap(source, `${key} of ${label}`, found, undefined).values()].flatMap(
      (each) => readValue(source, label, each, toName) ?? [],
    )
  }
  const paths = list('path', parseRoutePath)
  const hosts = list('host', toHost)
  return {
    paths: entries.has('path') ? paths : [ANY_PATH],
    hosts: hosts.length === 0 || hosts.includes('*') ? ['*'] : hosts,
    methods: list('method', toMethod),
    headers: values('headers', (name) => name.toLowerCase()),
    query: values('query', (name) => name),
    clients: list('client', (text) => text),
  }
}

const ANY_PATH = parseTemplate('/**')

function parseRoutePath(text: string): PathTemplate {
  return parsePath(text)
}

/** Reads `name: value`, `name: { prefix: value }` or `name: { present: true }`. */
function readValue(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
  toName: (name: string) => string,
): RouteValue | undefined {
  const name = toName(entry.name)
  const value = source.text(entry.value)
  if (value !== undefined) return { name, kind: 'exact', value }
  const before = source.problems.length
  const form = readMap(source, `${entry.name} of ${label}`, entry, ['prefix', 'present'])
  if (source.problems.length > before) return undefined
  const prefix = readText(source, form.get('prefix'), 'prefix')
  if (prefix !== undefined) return { name, kind: 'prefix', value: prefix }
  if (readText(source, form.get('present'), 'present') === 'true')
    return { name, kind: 'present', value: '' }
  source.report(
    entry.key,
    `${entry.name} of ${label} must be a value, { prefix: value } or { present: true }`,
  )
  return undefined
}

function readAction(
  source: YamlSource,
  label: string,
  item: unknown,
  entries: ReadonlyMap<string, YamlEntry>,
  match: RouteMatch,
  folder: string,
): RouteAction | undefined {
  const actions = ACTIONS.filter((key) => entries.has(key))
  if (actions.length !== 1) {
    source.report(
      item,
      `${label} must have one of ${ACTIONS.join(', ')}, got ${actions.join(' and ') || 'none'}`,
    )
    return undefined
  }
  const [action] = actions
  const isAllowed = (key: string): boolean =>
    action === 'service' || (action === 'files' && key === 'strip_prefix')
  for (const key of SERVICE_KEYS)
    if (entries.has(key) && !isAllowed(key))
      source.report(
        entries.get(key)!.key,
        `${label} has ${action}, so ${key} has no effect: remove it`,
      )
  const stripPrefix = readPrefix(source, label, entries.get('strip_prefix'))
  if (action === 'files')
    return readFilesAction(source, label, entries.get('files')!, { folder, stripPrefix })
  if (action === 'redirect') return readRedirect(source, label, entries.get('redirect')!)
  if (action === 'respond') return readRespond(source, label, entries.get('respond')!)
  const service = readText(source, entries.get('service'), 'service') ?? ''
  const handler = readText(source, entries.get('handler'), 'handler')
  if (handler !== undefined && !HANDLERS.has(handler))
    source.report(
      entries.get('handler')!.value,
      `handler of ${label} must be proxy, web, rpc, api or event, got ${JSON.stringify(handler)}`,
    )
  const endpointName = readText(source, entries.get('endpoint'), 'endpoint') ?? ''
  const isEvent = handler === 'event'
  const endpoint = isEvent ? endpointName || 'event' : endpointName
  const isCall = handler === 'rpc' || handler === 'api' || isEvent
  if (isCall !== (endpoint !== ''))
    source.report(
      item,
      isCall
        ? `${label} needs endpoint: <Handler>.<Method> for its handler ${handler} to call`
        : `endpoint of ${label} requires handler: rpc, api or event`,
    )
  if (isEvent && !(isServiceName(service) && isServiceName(endpoint)))
    source.report(
      item,
      `service and endpoint of ${label} must be names of a topic and an event such as orders and created`,
    )
  const addPrefix = readPrefix(source, label, entries.get('add_prefix'))
  const rewrite = entries.get('rewrite')
  const parts =
    rewrite === undefined
      ? undefined
      : readMap(source, `rewrite of ${label}`, rewrite, ['path', 'host', 'query'])
  const path = readPath(source, `rewrite.path of ${label}`, parts?.get('path'))
  if (path !== undefined && addPrefix !== '')
    source.report(item, `${label} must not have both rewrite.path and add_prefix`)
  if (path?.includes('{path}') && stripPrefix !== '')
    source.report(
      item,
      `${label} must not have both strip_prefix and {path} in rewrite.path: {path} has the prefix`,
    )
  if (
    match.paths.length > 1 &&
    path !== undefined &&
    /\{(?!header\.|client_ip|host|path)/.test(path)
  )
    source.report(
      item,
      `rewrite.path of ${label} uses path variables, so the route must have one path`,
    )
  const query = parts?.get('query')
  const added =
    query === undefined
      ? []
      : [...readMap(source, `query of ${label}`, query, undefined).values()].map(
          (each) => [each.name, readText(source, each, each.name) ?? ''] as const,
        )
  const host = readText(source, parts?.get('host'), `rewrite.host of ${label}`)
  return {
    ...{ kind: 'service', service, handler, endpoint, stripPrefix, addPrefix },
    ...{ path, host, query: added },
  }
}

/**
 * Reads a template of a path, which must start with a slash. Otherwise, a value from the request
 * could extend the host of a redirect.
 */
function readPath(
  source: YamlSource,
  label: string,
  entry: YamlEntry | undefined,
): string | undefined {
  const text = readText(source, entry, 'path')
  if (text !== undefined && !/^(?:\/|\{path\})/.test(text))
    source.report(entry!.value, `${label} must begin with / or {path}, got ${JSON.stringify(text)}`)
  return text
}

function readPrefix(source: YamlSource, label: string, entry: YamlEntry | undefined): string {
  const text = readText(source, entry, 'prefix') ?? ''
  if (text !== '' && !/^(?:\/[A-Za-z0-9._~-]+)+$/.test(text))
    source.report(
      entry!.value,
      `${entry!.name} of ${label} must be a path such as /api, without a slash at the end, got ${JSON.stringify(text)}`,
    )
  return text
}

function readRedirect(source: YamlSource, label: string, entry: YamlEntry): RouteAction {
  const entries = readMap(source, `redirect of ${label}`, entry, [
    'scheme',
    'host',
    'path',
    'status',
  ])
  const scheme = readText(source, entries.get('scheme'), 'scheme')
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https')
    source.report(
      entry.value,
      `scheme of ${label} must be http or https, got ${JSON.stringify(scheme)}`,
    )
  const status = readText(source, entries.get('status'), 'status') ?? '308'
  if (!REDIRECT_STATUSES.includes(status))
    source.report(
      entry.value,
      `status of ${label} must be ${REDIRECT_STATUSES.join(', ')}, got ${status}`,
    )
  const host = readText(source, entries.get('host'), 'host')
  const path = readPath(source, `path of ${label}`, entries.get('path'))
  if (scheme === undefined && host === undefined && path === undefined)
    source.report(
      entry.key,
      `redirect of ${label} must have scheme, host or path: otherwise it redirects to itself`,
    )
  return {
    kind: 'redirect',
    scheme: scheme as 'http' | 'https' | undefined,
    host,
    path,
    status: Number(status),
  }
}

function readRespond(source: YamlSource, label: string, entry: YamlEntry): RouteAction {
  const entries = readMap(source, `respond of ${label}`, entry, ['status', 'body', 'headers'])
  const status = Number(readText(source, entries.get('status'), 'status') ?? 200)
  if (!Number.isInteger(status) || status < 200 || status > 599)
    source.report(entry.value, `status of ${label} must be a whole number from 200 to 599`)
  const headers = entries.get('headers')
  const list =
    headers === undefined
      ? []
      : [...readMap(source, `headers of ${label}`, headers, undefined).values()]
  return {
    kind: 'respond',
    status,
    body: readText(source, entries.get('body'), 'body') ?? '',
    headers: list.flatMap((each) => [each.name, readText(source, each, each.name) ?? '']),
  }
}

function attempt<T>(
  source: YamlSource,
  node: unknown,
  prefix: string,
  work: () => T,
): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    source.report(node, `${prefix}${error.message}`)
    return undefined
  }
}
