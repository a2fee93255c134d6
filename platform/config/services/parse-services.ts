import { isMap, isSeq } from 'yaml'
import { parseSrvName, SRV_SCHEME, type SrvName } from '../../../adapters/registry/dns/names.ts'
import { toService } from '../../../adapters/registry/static.ts'
import { SWITCH } from '../../../lib/values/value.ts'
import { SETTINGS } from '../../settings/settings.ts'
import { readErrors } from '../actions/errors.ts'
import { readMap } from '../actions/read-map.ts'
import { readPlugins } from '../parse-plugins.ts'
import { POLICY_KEYS, readPolicies } from '../policies/parse-policies.ts'
import type { ConfiguredService } from '../types.ts'
import type { YamlEntry, YamlSource, YamlText } from '../yaml-source.ts'
import { DEFAULT_DNS, readDns } from './dns.ts'
import { NEEDS_NODES } from './needs-nodes.ts'
import { readTls } from './tls.ts'
import { HOST_TYPE, readScalar, readTimeouts } from './values.ts'

export const SERVICE_KEYS: readonly string[] = [
  ...['nodes', 'balance', 'timeout', 'keep_alive', 'max_connection_age', 'host', 'tls'],
  ...['dns', 'encoded_slash', 'plugins', 'errors', ...POLICY_KEYS],
]

/** Reads `services:`. */
export function readServices(
  source: YamlSource,
  { value }: YamlEntry,
  folder: string,
): ConfiguredService[] {
  const map = source.follow(value)
  if (isMap(map)) return source.entries(map).map((entry) => readService(source, entry, folder))
  if (map !== undefined)
    source.report(value, 'services must be a map of service names to their nodes')
  return []
}

function readService(source: YamlSource, entry: YamlEntry, folder: string): ConfiguredService {
  const { key, name, value } = entry
  const label = `service "${name}"`
  const entries = isMap(source.follow(value))
    ? readMap(source, label, entry, SERVICE_KEYS)
    : new Map([['nodes', entry]])
  const nodes = entries.get('nodes')?.value
  const list = source.follow(nodes)
  const texts = list === undefined ? [] : source.texts(nodes, `nodes of ${label}`)
  const isListed = list !== undefined && !(isSeq(list) && list.items.length === 0)
  // A service with settings but no nodes refers to a service in the registry.
  if (!isListed && (entries.has('nodes') || entries.size === 0))
    source.report(key, `${label} ${NEEDS_NODES}`)
  let srv: readonly SrvName[] = []
  try {
    toService(name, [], '')
    srv = checkNodes(source, name, texts)
  } catch (error) {
    source.report(key, (error as Error).message)
  }
  const tls = entries.get('tls')
  const dns = entries.get('dns')
  const plugins = entries.get('plugins')
  const errors = entries.get('errors')
  return {
    name,
    nodes: texts.flatMap(({ text }) => (text.startsWith(SRV_SCHEME) ? [] : [text])),
    srv,
    dns:
      dns === undefined ? (srv.length > 0 ? DEFAULT_DNS : undefined) : readDns(source, label, dns),
    balance: readScalar(source, `balance of ${label}`, entries.get('balance'), SETTINGS.balance),
    timeouts: readTimeouts(source, label, entries.get('timeout'), [
      'request',
      'connect',
      'response',
      'idle',
    ]),
    keepAliveMs: readScalar(
      source,
      `keep_alive of ${label}`,
      entries.get('keep_alive'),
      SETTINGS.keepAliveMs,
    ),
    maxConnectionAgeMs: readScalar(
      source,
      `max_connection_age of ${label}`,
      entries.get('max_connection_age'),
      SETTINGS.maxConnectionAgeMs,
    ),
    encodedSlash:
      readScalar(source, `encoded_slash of ${label}`, entries.get('encoded_slash'), SWITCH) ??
      false,
    host: readScalar(source, `host of ${label}`, entries.get('host'), HOST_TYPE),
    tls: tls && readTls(source, label, tls, folder),
    policies: isMap(source.follow(value)) ? readPolicies(source, label, entries) : {},
    plugins: plugins === undefined ? [] : readPlugins(source, plugins, folder),
    errors: errors === undefined ? [] : readErrors(source, label, errors, folder),
    at: source.at(key),
  }
}

/** Reports invalid nodes and returns the SRV names among the nodes. */
function checkNodes(source: YamlSource, name: string, texts: readonly YamlText[]): SrvName[] {
  const ids = new Set<string>()
  const names: SrvName[] = []
  for (const { node, text } of texts) {
    try {
      const srv = parseSrvName(text)
      if (srv !== undefined) names.push(srv)
      const id = srv === undefined ? toService(name, [text], '').nodes[0]!.id : text
      if (ids.has(id)) source.report(node, `service "${name}" lists ${id} twice`)
      ids.add(id)
    } catch (error) {
      source.report(node, `service "${name}": ${(error as Error).message}`)
    }
  }
  return names
}
