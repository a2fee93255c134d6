import { isIPv4 } from 'node:net'
import { suggest } from '../../../../lib/text/did-you-mean.ts'

/** How much is asked of the server's TLS, as libpq has it (PostgreSQL documentation: SSL Support, table 34.1). */
export type SslMode = (typeof SSL_MODES)[number]

/** What a `postgres://` text says. */
export interface PostgresAddress {
  /** Or the folder of a Unix socket: then it begins with a slash. */
  readonly host: string
  readonly port: number
  /** @default that of the variable PGUSER, else the user this process runs as */
  readonly user?: string
  /** @default that of the variable PGPASSWORD, else of the file ~/.pgpass */
  readonly password?: string
  readonly database: string
  /** Schema of the database all that is stored lies in. */
  readonly schema: string
  readonly sslmode: SslMode
  /** PEM file of the authorities that are trusted. @default those of Node.js */
  readonly caFile?: string
  /** PEM file of the client's certificate. */
  readonly certFile?: string
  /** PEM file of the certificate's key. */
  readonly keyFile?: string
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'schema']
const SCHEMA = /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/

/**
 * Reads `postgres://[user[:password]@]host[:port]/database[?sslmode=..&sslrootcert=..&sslcert=..&sslkey=..&schema=..]`. The folder of
 * a Unix socket is a percent-encoded host, or, with neither host nor user, `?host=/folder`. Without `sslmode`, this machine is trusted and any
 * other must show a certificate of its name: nothing falls back to less.
 *
 * @throws {RangeError} naming the wrong part and what would be right; the text is not shown, there may be a password in it.
 */
export function parsePostgresUrl(text: string): PostgresAddress {
  const url = parseUrl(text)
  const parameters = readParameters(url)
  const host = decode(url.hostname, 'host').replace(/^\[(.*)\]$/, '$1') || parameters['host'] || ''
  if (host === '') throw wrong('it names no host')
  if (url.hostname !== '' && parameters['host'] !== undefined) throw wrong('it names two hosts')
  const database = decode(url.pathname.slice(1), 'database')
  if (database === '' || database.includes('/')) throw wrong('it must name one database')
  if (url.hash !== '') throw wrong('what follows # means nothing here; in a password it is %23')
  const { schema = 'mx', sslrootcert, sslcert, sslkey } = parameters
  if (!SCHEMA.test(schema))
    throw wrong('schema must be a name of up to 40 lower-case letters, digits and _, without pg_')
  const user = decode(url.username, 'user')
  const password = decode(url.password, 'password')
  const sslmode = readSslMode(parameters['sslmode'], host)
  if (sslmode === 'disable' && (sslrootcert ?? sslcert ?? sslkey) !== undefined)
    throw wrong('certificates are for the sslmodes require, verify-ca and verify-full')
  if ((sslcert === undefined) !== (sslkey === undefined))
    throw wrong('sslcert and sslkey go together')
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
    // Told below, without what the parser would repeat of it.
  }
  throw wrong('it cannot be read; in a user or password / ? # @ : % and spaces are percent-encoded')
}

function readParameters({ searchParams }: URL): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [name, value] of searchParams) {
    if (!PARAMETERS.includes(name)) {
      const near = suggest(name, PARAMETERS)
      const hint = near === undefined ? `known are ${PARAMETERS.join(', ')}` : `meant ${near}?`
      throw wrong(`it takes no ${JSON.stringify(name.slice(0, 64))} (${hint})`)
    }
    if (value === '') throw wrong(`${name}= must have a value`)
    if (read[name] !== undefined) throw wrong(`${name} is there twice`)
    read[name] = value
  }
  if (read['host']?.startsWith('/') === false) throw wrong('?host= is for the folder of a socket')
  return read
}

function readSslMode(given: string | undefined, host: string): SslMode {
  if (given === undefined) return isHere(host) ? 'disable' : 'verify-full'
  const mode = SSL_MODES.find((known) => known === given)
  if (mode === undefined) throw wrong(`sslmode must be one of ${SSL_MODES.join(', ')}`)
  if (mode !== 'disable' && host.startsWith('/')) throw wrong('a Unix socket has no TLS')
  return mode
}

function isHere(host: string): boolean {
  if (host.startsWith('/') || host === 'localhost' || host === '::1') return true
  return isIPv4(host) && host.startsWith('127.')
}

function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw wrong(`its ${what} must be percent-encoded`, cause)
  }
}

function wrong(what: string, cause?: unknown): RangeError {
  return new RangeError(
    `PostgreSQL is postgres://user:password@host:port/database?sslmode=...: ${what}`,
    { cause },
  )
}
