import { isIPv4, isIPv6 } from 'node:net'
import type { DnsOptions } from '../../../adapters/registry/dns/dns-services.ts'
import { parseHostPort } from '../../../core/upstream/node/parse-node.ts'
import { parseDuration } from '../../../lib/text/units.ts'
import { readMap } from '../actions/read-map.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { readScalar } from './values.ts'

const MIN_REFRESH_MS = 1000
const MAX_REFRESH_MS = 86_400_000
/** Used for SRV names without `dns:`. */
export const DEFAULT_DNS: DnsOptions = { refreshMs: 30_000, servers: [] }

/** Reads `dns:` of a service. */
export function readDns(source: YamlSource, label: string, entry: YamlEntry): DnsOptions {
  const entries = readMap(source, `dns of ${label}`, entry, ['refresh', 'servers'])
  const refreshMs = readScalar(source, `refresh of dns of ${label}`, entries.get('refresh'), {
    parse: ([text]) => parseRefresh(text!),
  })
  const servers = entries.get('servers')
  const listed =
    servers === undefined ? [] : source.texts(servers.value, `servers of dns of ${label}`)
  for (const { node, text } of listed)
    if (!isServer(text))
      source.report(
        node,
        `servers of dns of ${label} must be IP addresses such as 10.0.0.2, 127.0.0.1:8600 or [::1]:53, got ${JSON.stringify(text)}`,
      )
  return {
    refreshMs: refreshMs ?? DEFAULT_DNS.refreshMs,
    servers: listed.map(({ text }) => text),
  }
}

function parseRefresh(text: string): number {
  const ms = parseDuration(text)
  if (ms >= MIN_REFRESH_MS && ms <= MAX_REFRESH_MS) return ms
  throw new RangeError(`must be a duration from 1s to 1d, such as 30s, got ${text}`)
}

/** Returns whether a text is valid for `setServers` in node:dns. */
function isServer(text: string): boolean {
  const host = isIPv4(text) || isIPv6(text) ? text : (parseHostPort(text)?.host ?? '')
  return isIPv4(host) || isIPv6(host)
}
