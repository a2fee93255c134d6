import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import { SETTING, type SETTING_NAMES } from '../../../core/registry/setting-metadata.ts'
import { parsePolicies } from '../../../core/upstream/policies/parse-policies.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'
import { SETTINGS, type Settings } from '../../settings/settings.ts'
import type { ConfiguredService } from '../types.ts'
import { HOST_TYPE } from './values.ts'

/**
 * Settings of a service from its metadata in the registry. Settings in `mx.yaml` take precedence.
 */
export interface RegistrySettings
  extends Partial<
    Pick<
      ConfiguredService,
      'balance' | 'timeouts' | 'keepAliveMs' | 'maxConnectionAgeMs' | 'host' | 'policies'
    >
  > {}

const TYPES: Readonly<Record<(typeof SETTING_NAMES)[number], Pick<ValueType<unknown>, 'parse'>>> = {
  balance: SETTINGS.balance,
  'timeout.connect': SETTINGS.connectTimeoutMs,
  'timeout.response': SETTINGS.replyTimeoutMs,
  'timeout.idle': SETTINGS.idleTimeoutMs,
  keep_alive: SETTINGS.keepAliveMs,
  max_connection_age: SETTINGS.maxConnectionAgeMs,
  host_header: HOST_TYPE,
  policies: { parse: ([text = '']) => parsePolicies(text) },
}
const NAMES = Object.keys(TYPES)
/** Settings of `services:` that the registry cannot change. */
const FILE_ONLY =
  /^(?:tls|dns|encoded_slash|plugins|errors|timeout\.request|outlier|retry|hedge|concurrency|breaker|health|panic_threshold|slow_start|subset)(?:[._]|$)/

/**
 * Reads the settings in the metadata of a service. Services outside the default domain cannot have
 * policies, because tenants register there.
 *
 * @param onInvalid called for each ignored key with the expected value.
 */
export function readRegistrySettings(
  metadata: Readonly<Record<string, string>>,
  domain: string,
  onInvalid: (key: string, problem: string) => void = () => {},
): RegistrySettings {
  const values = new Map<string, unknown>()
  for (const [key, text] of Object.entries(metadata)) {
    if (!key.startsWith(SETTING)) continue
    const name = key.slice(SETTING.length)
    if (!NAMES.includes(name)) {
      onInvalid(key, describeUnknown(name))
      continue
    }
    // Not parsed, because parsing takes longer than the rest of a registration.
    if (name === 'policies' && domain !== DEFAULT_DOMAIN) {
      onInvalid(key, `is only allowed for services of namespace ${DEFAULT_DOMAIN}`)
      continue
    }
    try {
      values.set(name, TYPES[name as keyof typeof TYPES].parse([text]))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      onInvalid(key, error.message)
    }
  }
  const get = <T>(name: keyof typeof TYPES): T | undefined => values.get(name) as T | undefined
  return {
    balance: get('balance'),
    timeouts: {
      connect: get('timeout.connect'),
      response: get('timeout.response'),
      idle: get('timeout.idle'),
    },
    keepAliveMs: get('keep_alive'),
    maxConnectionAgeMs: get('max_connection_age'),
    host: get('host_header'),
    ...(values.has('policies') && { policies: get('policies') ?? {} }),
  }
}

function describeUnknown(name: string): string {
  if (FILE_ONLY.test(name)) return 'is only allowed in mx.yaml'
  const near = suggest(name, NAMES)
  return near === undefined
    ? `is unknown; known: ${NAMES.map((known) => `${SETTING}${known}`).join(', ')}`
    : `is unknown, did you mean ${SETTING}${near}?`
}

/**
 * Limits the settings of services outside the default domain: because tenants register there, such
 * services may shorten the gateway's timeouts but not extend them.
 */
export function limitSettings(
  found: RegistrySettings,
  settings: Settings,
  domain: string,
): RegistrySettings {
  if (domain === DEFAULT_DOMAIN) return found
  const { connect, response, idle } = found.timeouts ?? {}
  return {
    ...found,
    timeouts: {
      connect: limit(connect, settings.connectTimeoutMs),
      response: limit(response, settings.replyTimeoutMs),
      idle: limit(idle, settings.idleTimeoutMs),
    },
    keepAliveMs: limit(found.keepAliveMs, settings.keepAliveMs),
    maxConnectionAgeMs: limit(found.maxConnectionAgeMs, settings.maxConnectionAgeMs),
  }
}

function limit(ms: number | undefined, maxMs: number): number | undefined {
  return ms === undefined ? undefined : Math.min(ms, maxMs)
}
