import { isIP } from 'node:net'
import { readOtlpVariables } from '../../core/tracing/otlp-variables.ts'
import { toSocketPath } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'

/** A plugin that is enabled by default. */
export interface DefaultPlugin {
  readonly name: string
  /** Setting that requires the plugin. */
  readonly setting?: keyof Settings
  /**
   * Scope of a security plugin: the gateway, or gateway and dashboard. It can only be disabled by
   * its setting, not by omitting it from `plugins:` in `mx.yaml`.
   */
  readonly guard?: 'gateway' | 'everywhere'
  /** Returns the options, or undefined to omit the plugin because it would have no effect. */
  readonly options: (settings: Settings) => object | undefined
}

const ANY_CLIENT = ['0.0.0.0/0', '::/0', 'unix']

/**
 * Default plugins in chain order. `plugins:` in `mx.yaml` replaces the list, except for the guards.
 */
export const DEFAULT_PLUGINS: readonly DefaultPlugin[] = [
  { name: 'request-id', options: () => ({}) },
  {
    name: 'tracing',
    setting: 'tracingTrust',
    options: ({ tracingTrust }) => {
      if (!readOtlpVariables().isEnabled) return undefined
      return { trust: tracingTrust === 'any' ? ANY_CLIENT : tracingTrust }
    },
  },
  {
    name: 'access-log',
    setting: 'accessLog',
    options: ({ accessLog }) =>
      accessLog === 'off' ? undefined : { path: accessLog === 'on' ? 'stdout' : accessLog },
  },
  {
    name: 'server-timing',
    setting: 'serverTiming',
    options: ({ serverTiming }) => {
      if (serverTiming === 'any') return {}
      return serverTiming.length === 0 ? undefined : { clients: serverTiming }
    },
  },
  {
    name: 'time-limit',
    setting: 'requestTimeoutMs',
    options: ({ requestTimeoutMs }) =>
      requestTimeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : { limit: `${requestTimeoutMs}ms` },
  },
  {
    name: 'hosts',
    setting: 'hosts',
    guard: 'everywhere',
    options: (settings) => {
      const allow = listHosts(settings)
      return allow && { allow }
    },
  },
  {
    name: 'origins',
    setting: 'webOrigins',
    guard: 'everywhere',
    options: ({ webOrigins, corsOrigins }) => {
      if (webOrigins === 'any' || corsOrigins.includes('*')) return undefined
      return { allow: [...webOrigins, ...corsOrigins] }
    },
  },
  {
    name: 'cors',
    setting: 'corsOrigins',
    options: ({ corsOrigins }) => (corsOrigins.length === 0 ? undefined : { origins: corsOrigins }),
  },
  { name: 'namespace', options: ({ namespace }) => (namespace === '' ? undefined : { namespace }) },
  {
    name: 'forwarded',
    setting: 'trustedProxies',
    options: ({ trustedProxies, trustedProxiesHeader, trustedProxiesOptional }) => ({
      trusted: trustedProxies,
      header: trustedProxiesHeader,
      optional: trustedProxiesOptional,
    }),
  },
  {
    name: 'auth',
    setting: 'auth',
    guard: 'gateway',
    options: ({ auth, forwardToken, forwardAccount }) =>
      auth === 'none' ? undefined : { forwardToken, forwardAccount },
  },
  {
    name: 'body-limit',
    setting: 'maxBodyBytes',
    options: ({ maxBodyBytes }) =>
      maxBodyBytes === Number.POSITIVE_INFINITY ? undefined : { limit: maxBodyBytes },
  },
]

/**
 * Returns the allowed hosts, including the names in `address` and `http2_address`, or undefined if
 * any host is allowed.
 */
export function listHosts({
  hosts,
  address,
  http2Address = address,
}: Settings): readonly string[] | undefined {
  if (hosts === 'any') return undefined
  const names = [address, http2Address]
    .filter((each) => toSocketPath(each) === undefined)
    .flatMap(({ host }) => (isIP(host) === 0 ? host : []))
  return [...hosts, ...names]
}
