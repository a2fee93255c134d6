import { listNames } from '../config/configured-services.ts'
import { lintConfiguration } from '../config/lint.ts'
import { formatOthers } from '../config/listen/main-listener.ts'
import type { Configuration } from '../config/types.ts'
import { formatSpecifier, planPlugins } from '../plugins/plan.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'
import type { GatewayServer } from './types.ts'

/** Contents of the startup banner. */
export interface BannerFacts {
  readonly version: string
  readonly settings: Settings
  /** Address with the actual port. */
  readonly address: Address
  /** URL of the admin server (health and metrics). */
  readonly admin?: string | undefined
  readonly listener: string
  readonly http2Address?: Address | undefined
  /** URLs of the additional listeners in `listen:`. */
  readonly others?: readonly string[] | undefined
  readonly workers: number
  readonly config: string | undefined
  /** Full service names. */
  readonly services: readonly string[]
  readonly plugins: readonly string[]
}

/** Maximum number of names shown on a terminal line and in a log entry. */
const NAMES_SHOWN = 8
const NAMES_LOGGED = 100

/** Prints the banner to a terminal, or logs a single line. */
export function printBanner(facts: BannerFacts, log: Log): void {
  if (hasTerminal(log)) process.stderr.write(formatBanner(facts))
  else
    log.info(
      toFields({ ...facts, services: truncateNames(facts.services, NAMES_LOGGED) }),
      'gateway ready',
    )
}

/** Returns whether stderr is a terminal and the log level `info` is enabled. */
export function hasTerminal(log: Log): boolean {
  return process.stderr.isTTY && log.isLevelEnabled('info')
}

/** Returns the banner for a terminal. Exported for its test. */
export function formatBanner(facts: BannerFacts): string {
  const { url, version, ...fields } = toFields(facts)
  return formatFacts(`mx ${version} gateway on ${url}`, fields)
}

/** Returns the title followed by one line per defined fact. */
export function formatFacts(title: string, facts: object): string {
  const rows = Object.entries(facts).filter(([, value]) => value !== undefined)
  const width = Math.max(...rows.map(([key]) => key.length))
  const lines = rows.map(([key, value]) => {
    const text = Array.isArray(value) ? formatList(value) : String(value)
    return `  ${key.padEnd(width)}  ${text}\n`
  })
  return `\n  ${title}\n\n${lines.join('')}\n`
}

function toFields({
  version,
  settings,
  address,
  admin,
  listener,
  http2Address,
  others = [],
  workers,
  config,
  services,
  plugins,
}: BannerFacts) {
  const scheme = settings.enableTls ? 'https' : 'http'
  return {
    url: `${scheme}://${formatAddress(address)}`,
    version,
    handler: settings.handler,
    namespace: settings.namespace === '' ? 'none' : settings.namespace,
    // The userinfo may contain a token.
    registry: settings.registry.replace(/[^/]*@/, ''),
    services,
    plugins,
    listener,
    http2: http2Address && `${scheme}://${formatAddress(http2Address)}`,
    others: others.length === 0 ? undefined : others,
    workers,
    config,
    admin,
  }
}

function formatList(names: readonly string[]): string {
  return names.length === 0 ? 'none' : truncateNames(names, NAMES_SHOWN).join(', ')
}

function truncateNames(names: readonly string[], count: number): readonly string[] {
  const rest = names.length - count
  // "and 1 more" would be no shorter than the name.
  return rest > 1 ? [...names.slice(0, count), `and ${rest} more`] : names
}

type ServingFacts = Pick<BannerFacts, 'listener' | 'admin'> &
  Pick<GatewayServer, 'port' | 'http2Port' | 'otherPorts'>

/** Prints the banner of `mx api` and logs warnings about its configuration. */
export function announce(
  configuration: Configuration,
  { listener, port, http2Port, otherPorts, admin }: ServingFacts,
  workers: number,
  log: Log,
): void {
  const { settings, file } = configuration
  const facts = {
    version: readVersion(),
    settings,
    address: { ...settings.address, port },
    admin,
    listener,
    http2Address:
      http2Port === undefined ? undefined : { ...settings.http2Address!, port: http2Port },
    others: formatOthers(configuration.config.listen, otherPorts),
    workers,
    config: file,
    services: listNames(configuration),
    plugins: planPlugins(configuration).map(formatSpecifier),
  }
  printBanner(facts, log)
  for (const warning of lintConfiguration(configuration)) log.warn(warning)
}
