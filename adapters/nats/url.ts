import { isServiceName } from '../../core/registry/service-name.ts'
import { parseAddress } from '../../core/upstream/parse-node.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'

/** A server of NATS. */
export interface NatsHost {
  /** Name or IP address, without brackets. */
  readonly host: string
  readonly port: number
}

/** What a `nats://` or `tls://` text says. */
export interface NatsAddress {
  /** One at least; those of a cluster are tried in turn. */
  readonly hosts: readonly NatsHost[]
  /** Whether the connection is encrypted, and the server must show a certificate of its name. */
  readonly secure: boolean
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** PEM file of the authorities that are trusted. @default those of Node.js */
  readonly caFile?: string
  /** PEM file of the client's certificate. */
  readonly certFile?: string
  /** PEM file of the certificate's key. */
  readonly keyFile?: string
  /** What all subjects begin with: installations that share a server have one each. */
  readonly prefix: string
}

/** What names a server of NATS, for errors. */
export const NATS_FORM = 'nats://[user:password@|token@]host:port[,host:port...]'

const FORM = /^(nats|tls):\/\/(?:([^@/?#]*)@)?([^@/?#]*)\/?(?:\?([^#]*))?$/s
const TLS_PARAMETERS = ['ca', 'cert', 'key']
const PARAMETERS = ['prefix', ...TLS_PARAMETERS]
const DEFAULT_PORT = 4222
const MAX_PREFIX = 64

/**
 * Reads `nats://[user:password@|token@]host[:port][,host[:port]...][?prefix=..]`, and `tls://` with `ca=..&cert=..&key=..` besides.
 *
 * @throws {RangeError} naming the wrong part and what would be right; the text is not shown, there may be a password in it.
 */
export function parseNatsUrl(text: string): NatsAddress {
  const [match, scheme, credentials, list = '', query = ''] = FORM.exec(text.trim()) ?? []
  if (match === undefined)
    throw wrong('it cannot be read; in a user, password or token @ : / ? # % are percent-encoded')
  const secure = scheme === 'tls'
  const { ca, cert, key, prefix = 'mx' } = readParameters(query)
  if (!secure && (ca ?? cert ?? key) !== undefined) throw wrong('certificates are for tls://')
  if ((cert === undefined) !== (key === undefined)) throw wrong('cert and key go together')
  if (prefix.length > MAX_PREFIX || !isServiceName(prefix))
    throw wrong(
      `prefix must be at most ${MAX_PREFIX} letters, digits and inner dots, dashes or underscores`,
    )
  return {
    hosts: list.split(',').map(readHost),
    secure,
    ...readCredentials(credentials),
    ...(ca !== undefined && { caFile: ca }),
    ...(cert !== undefined && { certFile: cert }),
    ...(key !== undefined && { keyFile: key }),
    prefix,
  }
}

/** The servers, without what is secret: for logs. */
export function formatNatsAddress({ hosts, secure }: NatsAddress): string {
  return `${secure ? 'tls' : 'nats'}://${hosts.map(formatNatsHost).join(',')}`
}

export function formatNatsHost({ host, port }: NatsHost): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function readHost(text: string): NatsHost {
  const hasPort = /:[^\]:]*$/.test(text)
  const host = parseAddress(hasPort ? text : `${text}:${DEFAULT_PORT}`)
  if (host === undefined)
    throw wrong(
      'its servers must be host:port or [IPv6]:port, joined by commas, with ports from 1 to 65535',
    )
  return host
}

function readCredentials(
  text: string | undefined,
): Pick<NatsAddress, 'user' | 'password' | 'token'> {
  if (text === undefined) return {}
  const [first = '', ...rest] = text.split(':')
  const [user, password] = [decode(first), decode(rest.join(':'))]
  if (rest.length === 0) {
    if (user === '') throw wrong('before the @ there must be a token, or user:password')
    return { token: user }
  }
  if (user === '' || password === '') throw wrong('user and password must not be empty')
  return { user, password }
}

function readParameters(query: string): Record<string, string> {
  const read: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!PARAMETERS.includes(name)) {
      const near = suggest(name, PARAMETERS)
      const hint = near === undefined ? `known are ${PARAMETERS.join(', ')}` : `meant ${near}?`
      throw wrong(`it takes no ${JSON.stringify(name.slice(0, 64))} (${hint})`)
    }
    if (value === '') throw wrong(`${name}= must have a value`)
    if (read[name] !== undefined) throw wrong(`${name} is there twice`)
    read[name] = value
  }
  return read
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw wrong('its user, password or token must be percent-encoded', cause)
  }
}

function wrong(what: string, cause?: unknown): RangeError {
  return new RangeError(`NATS is ${NATS_FORM}, with TLS tls://...: ${what}`, { cause })
}
