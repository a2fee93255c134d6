import { formatDuration } from '../../../lib/text/units.ts'
import { formatTime } from '../../../lib/values/format-time.ts'
import { indexServices } from '../configured-services.ts'
import { describePolicies } from '../policies/describe-policies.ts'
import type { Configuration, ConfiguredService } from '../types.ts'
import type { RegistrySettings } from './registry-settings.ts'

/** Formatted settings of a service by their keys in `mx.yaml`. */
export type ServiceView = Readonly<Record<string, string>>

/**
 * Returns the explicit settings of configured services by full name. Services without explicit
 * settings are omitted.
 */
export function describeServices(
  configuration: Configuration,
): Readonly<Record<string, ServiceView>> {
  const views = [...indexServices(configuration)].map(
    ([name, service]) => [name, describe(service)] as const,
  )
  return Object.fromEntries(views.filter(([, view]) => Object.keys(view).length > 0))
}

/**
 * Returns the settings in force for requests to a service, including the settings of the gateway.
 *
 * @param routeName name of the configured route, whose timeouts take precedence.
 * @param found settings from the registry; the view marks the settings in force.
 * @param isCall whether the request is a call, which uses the gateway's response and idle timeouts.
 */
export function describeEffective(
  configuration: Configuration,
  name: string,
  routeName: string | undefined,
  found: RegistrySettings,
  isCall: boolean,
): ServiceView {
  const { settings, config } = configuration
  const service = indexServices(configuration).get(name)
  const route = config.routes.find((each) => each.name === routeName)
  const gateway = {
    balance: settings.balance,
    timeouts: {
      request: settings.requestTimeoutMs,
      connect: settings.connectTimeoutMs,
      response: settings.replyTimeoutMs,
      idle: settings.idleTimeoutMs,
    },
    keepAliveMs: settings.keepAliveMs,
    maxConnectionAgeMs: settings.maxConnectionAgeMs,
    policies: config.policies ?? {},
  }
  const inherited = describe(gateway)
  const describeConfigured = ({
    timeouts = {},
    ...rest
  }: Partial<ConfiguredService>): ServiceView => {
    const { response, idle, ...others } = timeouts
    return describe({ ...rest, timeouts: isCall ? others : timeouts })
  }
  return {
    ...omitDisabled(inherited, service?.policies),
    ...markSource(describeConfigured(found), 'registry'),
    ...(service && describeConfigured(service)),
    ...(route && describeConfigured({ timeouts: route.timeouts, policies: route.policies ?? {} })),
  }
}

/** Omits the policies that the service disables. */
function omitDisabled(view: ServiceView, own: ConfiguredService['policies'] = {}): ServiceView {
  const isOff = (key: string): boolean => own[key.split('.')[0] as 'health' | 'breaker'] === 'off'
  return Object.fromEntries(Object.entries(view).filter(([key]) => !isOff(key)))
}

function markSource(view: ServiceView, source: string): ServiceView {
  return Object.fromEntries(
    Object.entries(view).map(([key, value]) => [key, `${value} (${source})`]),
  )
}

function describe(service: Partial<ConfiguredService>): ServiceView {
  const { balance, timeouts = {}, keepAliveMs, maxConnectionAgeMs, host, tls, dns } = service
  const entries: [key: string, value: string | undefined][] = [
    ['balance', balance],
    ...Object.entries(timeouts).map(([name, ms]): [string, string | undefined] => [
      `timeout.${name}`,
      formatLimit(ms),
    ]),
    ['keep_alive', formatLimit(keepAliveMs)],
    ['max_connection_age', formatLimit(maxConnectionAgeMs)],
    ['encoded_slash', service.encodedSlash === true ? 'true' : undefined],
    ['host', typeof host === 'object' ? host.name : host],
    ['tls', tls && formatTls(tls)],
    ...describePolicies(service.policies ?? {}),
    ['dns', dns && [`refresh ${formatDuration(dns.refreshMs)}`, ...dns.servers].join(' ')],
  ]
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as ServiceView
}

function formatTls({
  files,
  serverName,
  isVerified,
}: NonNullable<ConfiguredService['tls']>): string {
  const parts = [...files, ...(serverName === undefined ? [] : [`server_name ${serverName}`])]
  return [...parts, ...(isVerified ? [] : ['insecure_skip_verify'])].join(' ')
}

function formatLimit(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTime(ms)
}
