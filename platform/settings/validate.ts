import { isWildcardHost } from '../../core/http/host/wildcard-host.ts'
import { type Address, formatAddress, toSocketPath } from './parse/address.ts'
import type { ServerCommand } from './setting.ts'
import { SETTINGS, type Settings, type SettingsInput } from './settings.ts'

/** Returns one-line problems with combinations of listener settings. */
export function validateListeners(settings: Settings, inputs: SettingsInput): string[] {
  const { listener, enableTls, http2, http2Address, tlsClientCa, tlsClientAuth } = settings
  const problems: string[] = []
  const report = (key: keyof Settings, problem: string): void => {
    problems.push(`${inputs.get(key)?.source}: ${problem}`)
  }
  if (http2Address !== undefined && http2 === 'off')
    report('http2Address', 'http2_address serves HTTP/2, which http2=off disables')
  if (http2 === 'cleartext' && listener === 'uws' && http2Address === undefined) {
    report(
      'http2',
      'http2=cleartext requires --listener=node or --http2_address, because the uws listener does not support HTTP/2',
    )
  }
  if (tlsClientCa === '') {
    if (tlsClientAuth === 'optional')
      report('tlsClientAuth', 'tls_client_auth has no effect without tls_client_ca')
    return problems
  }
  if (!enableTls) report('tlsClientCa', 'tls_client_ca has no effect without enable_tls')
  if (listener === 'uws') {
    report(
      'tlsClientCa',
      'tls_client_ca needs --listener=node: uWebSockets cannot require client certificates',
    )
  }
  return problems
}

/** Returns one-line problems with combinations of settings that `mx server` does not allow. */
export function validateServer(settings: Settings, inputs: SettingsInput): readonly string[] {
  const problems: string[] = []
  const sourceOf = (key: keyof Settings): string => inputs.get(key)?.source ?? SETTINGS[key].name
  const { registry, store, configSecretKey } = settings
  if (registry === 'static' || /^mxs?:/.test(registry))
    problems.push(
      `${sourceOf('registry')} must be memory, consul://host:port, consuls://host:port or kubernetes, got ${JSON.stringify(registry)}: mx server is itself a registry, and mx:// is for services and mx api`,
    )
  if (configSecretKey === 'memory' && store !== 'memory')
    problems.push(
      `${sourceOf('configSecretKey')} must not be memory with a persistent store (${sourceOf('store')}): its secrets would be unreadable after a restart; use file for one server, or a key for several`,
    )
  return [...problems, ...validatePorts(settings, inputs, 'server')]
}

/** Returns one-line problems with addresses of a command that conflict with each other. */
export function validatePorts(
  settings: Settings,
  inputs: SettingsInput,
  command: ServerCommand,
): readonly string[] {
  const sourceOf = (key: keyof Settings): string => inputs.get(key)?.source ?? SETTINGS[key].name
  const keys = (['address', 'http2Address', 'proxyAddress', 'webAddress', 'adminAddress'] as const)
    .filter((key) => (SETTINGS[key].only ?? command) === command)
    // Other settings take precedence over the default admin address (platform/admin/open-admin.ts).
    .filter((key) => key !== 'adminAddress' || inputs.has(key))
  return keys.flatMap((key, i) =>
    keys.slice(0, i).flatMap((other) => {
      const [address, earlier] = [settings[key], settings[other]]
      return address !== undefined && earlier !== undefined && isSamePort(address, earlier)
        ? `${sourceOf(key)} must differ from ${SETTINGS[other].name}, got ${formatAddress(address)}`
        : []
    }),
  )
}

/** Returns whether two addresses conflict, so that only one of them can be listened on. */
export function isSamePort(a: Address, b: Address): boolean {
  if (toSocketPath(a) !== undefined) return a.host === b.host
  const isSameHost = a.host === b.host || isWildcardHost(a.host) || isWildcardHost(b.host)
  return a.port !== 0 && a.port === b.port && isSameHost
}
