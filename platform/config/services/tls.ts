import { resolve } from 'node:path'
import { readAuthorities } from '../../../core/listener/tls/read-authorities.ts'
import { loadTls } from '../../../core/listener/tls/tls.ts'
import { createUpstreamTls } from '../../../core/upstream/tls.ts'
import { SWITCH } from '../../../lib/values/value.ts'
import { readMap, readText } from '../actions/read-map.ts'
import type { ConfiguredTls } from '../types.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'
import { readScalar } from './values.ts'

const KEYS = ['ca', 'cert', 'key', 'server_name', 'insecure_skip_verify']
const DNS_NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i
const ENDS_IN_NUMBER = /(?:^|\.)\d+$/

/** Reads `tls:` of a service, including its files. */
export function readTls(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
  folder: string,
): ConfiguredTls | undefined {
  const before = source.problems.length
  const entries = readMap(source, `tls of ${label}`, entry, KEYS)
  const read = (key: string): string | undefined => readText(source, entries.get(key), key)
  const toFile = (key: string): string | undefined => {
    const text = read(key)
    if (text === '') source.report(entries.get(key)!.value, `${key} of ${label} must be a file`)
    return text && resolve(folder, text)
  }
  const [ca, cert, key] = [toFile('ca'), toFile('cert'), toFile('key')]
  const serverName = read('server_name')
  const skip = readScalar(
    source,
    `insecure_skip_verify of ${label}`,
    entries.get('insecure_skip_verify'),
    SWITCH,
  )
  if (entries.size === 0 && source.problems.length === before)
    source.report(entry.key, `tls of ${label} needs one of ${KEYS.join(', ')}`)
  if (entries.has('cert') !== entries.has('key')) {
    const [has, lacks] = entries.has('cert') ? ['cert', 'key'] : ['key', 'cert']
    source.report(
      entry.key,
      `tls of ${label} has ${has} but no ${lacks}: a client certificate needs both`,
    )
  }
  if (serverName !== undefined && (!DNS_NAME.test(serverName) || ENDS_IN_NUMBER.test(serverName)))
    source.report(
      entries.get('server_name')!.value,
      `server_name of ${label} must be a DNS name, got ${JSON.stringify(serverName)}`,
    )
  if (source.problems.length > before) return undefined
  const warnings: string[] = []
  const load = <T>(at: string, work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      source.report(entries.get(at)!.value, `${label}: ${(error as Error).message}`)
      return undefined
    }
  }
  const authorities = ca && load('ca', () => readAuthorities(ca, 'TLS CA file'))
  const pair =
    cert &&
    key &&
    load('cert', () => {
      const files = [{ certFile: cert, keyFile: key }]
      return loadTls(files, { warn: (warning) => void warnings.push(warning) }).pairs[0]
    })
  if (source.problems.length > before) return undefined
  const settings = {
    ...{ ca: authorities, serverName, isVerified: skip !== true },
    ...(pair && { cert: pair.cert, key: pair.key }),
  }
  const tls = load([...entries.keys()][0]!, () => createUpstreamTls(settings))
  const files = [ca, cert, key].filter((file) => file !== undefined)
  return tls && { ...tls, files, warnings, at: source.at(entry.key) }
}
