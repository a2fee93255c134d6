import { isIPv4 } from 'node:net'
import { suggest } from '../../../../lib/text/did-you-mean.ts'

/** Server authentication, as in libpq (PostgreSQL documentation: SSL Support, table 34.1). */
export type SslMode = (typeof SSL_MODES)[number]

/** Parsed `postgres://` URL. */
export interface PostgresAddress {
  /** Host, or folder of a Unix socket, which starts with a slash. */
  readonly host: string
  readonly port: number
  /** @default the PGUSER variable, otherwise the user of this process */
  readonly user?: string
  /** @default the PGPASSWORD variable, otherwise the ~/.pgpass file */
  readonly password?: string
  readonly database: string
  /** Schema of all tables. */
  readonly schema: string
  readonly sslmode: SslMode
  /**
   * PEM file with trusted certificate authorities.
   *
   * @default the certificate authorities of Node.js
   */
  readonly caFile?: string
  /** PEM file of the client certificate. */
  readonly certFile?: string
  /** PEM file of the client key. */
  readonly keyFile?: string
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'schema']
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/

/**
 * Parses
 * `postgres://[user[:password]@]host[:port]/database[?sslmode=..&sslrootcert=..&sslcert=..&sslkey=..&schema=..]`.
 * The folder of a Unix socket is specified as a percent-encoded host or, without host and user, as
 * `?host=/folder`. Without `sslmode`, local hosts are trusted and other hosts must present a valid
 * certificate. There is no fallback to weaker modes.
 *
 * @throws {RangeError} with the invalid part and the expected form, without the URL because it may
 * contain a password.
 */
export function parsePostgresUrl(text: string): PostgresAddress {
  const url = parseUrl(text)
  const parameters = readParameters(url)
  const host = decode(url.hostname, 'host').replace(/^\[(.*)\]$/, '$1') || parameters['host'] || ''
  if (host === '') throw invalid('missing host')
  if (url.hostname !== '' && parameters['host'] !== undefined) throw invalid('two hosts')
  const database = decode(url.pathname.slice(1), 'database')
  if (database === '' || database.includes('/')) throw invalid('expected one database')
  if (url.hash !== '') throw invalid('a fragment is not supported; write # in a password as %23')
  const { schema = 'mx', sslrootcert, sslcert, sslkey } = parameters
  if (!SCHEMA.test(schema))
    throw invalid(
      'schema must be at most 40 lower-case letters, digits and _, without the prefix pg_',
    )
  const user = decode(url.username, 'user')
  const password = decode(url.password, 'password')
  const sslmode = readSslMode(parameters['sslmode'], host)
  if (sslmode === 'disable' && (sslrootcert ?? sslcert ?? sslkey) !== undefined)
    throw invalid('certificates require the sslmode require, verify-ca or verify-full')
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw invalid('sslcert and sslkey must be set together')
  return {
    host,
    port: url.port === '' ? 5432 : Number(url.port),
    database,
    schema,
    sslmode,
    ...(user !== '' && { user }),
    ...(password !== '' && { password }),
    ...(sslrootcert !== undefined && { caFile: sslrootcert }),
    ...(sslcert !== undefined && { certFile: sslcert }),
    ...(sslkey !== undefined && { keyFile: sslkey }),
  }
}

function parseUrl(text: string): URL {
  try {
    if (/^postgres(?:ql)?:\/\//.test(text)) return new URL(text)
  } catch {
    // Reported below without the parser's message, which quotes the URL.
  }
  throw invalid('malformed URL; percent-encode / ? # @ : % and spaces in a user or password')
}

function readParameters({ searchParams }: URL): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of searchParams) {
    if (!PARAMETERS.includes(name)) {
      const near = suggest(name, PARAMETERS)
      const hint =
        near === undefined ? `expected ${PARAMETERS.join(', ')}` : `did you mean ${near}?`
      throw invalid(`unknown parameter ${JSON.stringify(name.slice(0, 64))} (${hint})`)
    }
    if (value === '') throw invalid(`${name}= must have a value`)
    if (result[name] !== undefined) throw invalid(`duplicate parameter ${name}`)
    result[name] = value
  }
  if (result['host']?.startsWith('/') === false)
    throw invalid('?host= must be the folder of a Unix socket')
  return result
}

function readSslMode(given: string | undefined, host: string): SslMode {
  if (given === undefined) return isLocal(host) ? 'disable' : 'verify-full'
  const mode = SSL_MODES.find((known) => known === given)
  if (mode === undefined) throw invalid(`sslmode must be one of ${SSL_MODES.join(', ')}`)
  if (mode !== 'disable' && host.startsWith('/'))
    throw invalid('a Unix socket does not support TLS')
  return mode
}

function isLocal(host: string): boolean {
  if (host.startsWith('/') || host === 'localhost' || host === '::1') return true
  return isIPv4(host) && host.startsWith('127.')
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw invalid(`the ${what} must be percent-encoded`, cause)
  }
}

function invalid(what: string, cause?: unknown): RangeError {
  return new RangeError(
    `invalid PostgreSQL URL, expected postgres://user:password@host:port/database?sslmode=...: ${what}`,
    { cause },
  )
}
