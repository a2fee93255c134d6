import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isWildcardHost } from '../../core/http/host/wildcard-host.ts'
import { redactUrl } from '../../lib/text/redact.ts'
import type { Configuration } from '../config/types.ts'
import { formatFacts, hasTerminal } from '../gateway/banner.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'
import { SETTINGS } from '../settings/settings.ts'
import { PASSWORD_FILE } from './bootstrap-accounts.ts'
import { toHomeFolder } from './files/home-folder.ts'
import type { Server } from './server.ts'

/** Matches wildcard hosts, which are replaced in shell commands because zsh expands `[::]`. */
const WILDCARD_AUTHORITY = /(?<=\/\/)(?:\[::\]|0\.0\.0\.0)(?=:)/

export interface ServerBannerInput
  extends Omit<Server, 'api' | 'versions' | 'reload' | 'drain' | 'close'> {
  /** URL of the admin server (health and metrics). */
  readonly admin?: string | undefined
}

/** Prints the banner to a terminal, or logs a single line. */
export function printServerBanner(
  server: ServerBannerInput,
  configuration: Configuration,
  log: Log,
): void {
  if (hasTerminal(log)) process.stderr.write(formatServerBanner(server, configuration))
  else log.info({ ...toFields(server, configuration), ...toLogFields(server) }, 'server ready')
}

/**
 * Returns the log fields: the file that contains the password instead of the password, because
 * other users may read the log.
 */
function toLogFields({ adminPassword }: ServerBannerInput) {
  const file = adminPassword?.file
  return file === undefined ? {} : { adminPasswordFile: file }
}

/** Returns the banner for a terminal. Exported for its test. */
export function formatServerBanner(
  server: ServerBannerInput,
  configuration: Configuration,
): string {
  const { version, registry, store, broker, events, gateway, proxy, ...fields } = toFields(
    server,
    configuration,
  )
  return formatFacts(`mx ${version} server`, {
    gateway,
    'rpc proxy': proxy,
    ...fields,
    'log in': formatLogin(server.proxyAddress),
    password: formatPassword(server),
    backends: `${registry} (registry), ${store} (store), ${broker} (broker), ${events} (events)`,
    'try it': `curl ${gateway.replace(WILDCARD_AUTHORITY, 'localhost')}/`,
  })
}

/**
 * Returns the commands to log in to this server. The `local` environment uses the default address
 * of the proxy.
 */
function formatLogin({ host, port }: Address): string {
  const address = formatAddress({ host: isWildcardHost(host) ? '127.0.0.1' : host, port })
  const login = 'mx login admin'
  if (address === SETTINGS.proxyAddress.default) return login
  return `mx env add local ${address.includes('[') ? `'${address}'` : address} && ${login}`
}

/** Returns the initial password of `admin`. After the first start, only its file is shown. */
function formatPassword({ adminPassword, folder }: ServerBannerInput): string | undefined {
  if (adminPassword === undefined) {
    if (folder === undefined) return undefined
    const file = join(toHomeFolder(folder), PASSWORD_FILE)
    return existsSync(file)
      ? `in ${file}`
      : "not stored; to set a new one, stop the server and run 'mx auth reset'"
  }
  const { password, file } = adminPassword
  return file === undefined
    ? `${password} (shown once)`
    : `${password} (shown once; stored in ${file})`
}

function toFields(server: ServerBannerInput, { settings, file }: Configuration) {
  const { profile, registry, store, broker, events, enableTls } = settings
  const proxy = formatAddress(server.proxyAddress)
  const scheme = enableTls ? 'https' : 'http'
  return {
    version: readVersion(),
    gateway: `${scheme}://${formatAddress(server.address)}`,
    proxy,
    http2: server.http2Address && `${scheme}://${formatAddress(server.http2Address)}`,
    dashboard: `${scheme}://${formatAddress(server.webAddress)}`,
    admin: server.admin,
    advertised: server.advertised === proxy ? undefined : server.advertised,
    profile,
    state: server.folder ?? 'in memory',
    services: server.services,
    registry: redactUrl(registry),
    store: redactUrl(store),
    broker: redactUrl(broker),
    events: redactUrl(events),
    config: file,
  }
}
