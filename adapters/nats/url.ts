import { isServiceName } from '../../core/registry/service-name.ts'
import { parseHostPort } from '../../core/upstream/node/parse-node.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'

/** Address of a NATS server. */
export interface NatsHost {
  /** Host name or IP address without brackets. */
  readonly host: string
  readonly port: number
}

/** Parsed `nats://` or `tls://` URL. */
export interface NatsAddress {
  /** At least one host; the servers of a cluster are tried in turn. */
  readonly hosts: readonly NatsHost[]
  /** Whether TLS with a verified certificate is used. */
  readonly secure: boolean
  readonly user?: string
  readonly password?: string
  readonly token?: string
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
  /** Prefix of all subjects. It separates installations on the same server. */
  readonly prefix: string
}

/** Expected form of a NATS URL, for error messages. */
export const NATS_FORM = 'nats://[user:password@|token@]host:port[,host:port...]'

const FORM = /^(nats|tls):\/\/(?:([^@/?#]*)@)?([^@/?#]*)\/?(?:\?([^#]*))?$/s
const TLS_PARAMETERS = ['ca', 'cert', 'key']
const PARAMETERS = ['prefix', ...TLS_PARAMETERS]
const DEFAULT_PORT = 4222
const MAX_PREFIX = 64

/**
 * Parses `nats://[user:password@|token@]host[:port][,host[:port]...][?prefix=..]`, or `tls://` with
 * the parameters `ca=..&cert=..&key=..`.
 *
 * @throws {RangeError} with the invalid part and the expected form, without the URL because it may
 * contain a password.
 */
export function parseNatsUrl(text: string): NatsAddress {
  const [match, scheme, credentials, list = '', query = ''] = FORM.exec(text.trim()) ?? []
  if (match === undefined)
    throw wrong('malformed URL; percent-encode @ : / ? # % in a user, password or token')
  const secure = scheme === 'tls'
  const { ca, cert, key, prefix = 'mx' } = readParameters(query)
  if (!secure && (ca ?? cert ?? key) !== undefined) throw wrong('certificates require tls://')
  if ((cert === undefined) !== (key === undefined)) throw wrong('cert and key must be set together')
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

/** Formats the servers without credentials, for logs. */
export function formatNatsAddress({ hosts, secure }: NatsAddress): string {
  return `${secure ? 'tls' : 'nats'}://${hosts.map(formatNatsHost).join(',')}`
}

export function formatNatsHost({ host, port }: NatsHost): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function readHost(text: string): NatsHost {
  const hasPort = /:[^\]:]*$/.test(text)
  const host = parseHostPort(hasPort ? text : `${text}:${DEFAULT_PORT}`)
  if (host === undefined)
    throw wrong(
      'servers must be host:port or [IPv6]:port, joined by commas, with ports from 1 to 65535',
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
    if (user === '') throw wrong('expected a token or user:password before the @')
    return { token: user }
  }
  if (user === '' || password === '') throw wrong('user and password must not be empty')
  return { user, password }
}

function readParameters(query: string): Record<string, string> {
  const parameters: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!PARAMETERS.includes(name)) {
      const near = suggest(name, PARAMETERS)
      const hint =
        near === undefined ? `expected ${PARAMETERS.join(', ')}` : `did you mean ${near}?`
      throw wrong(`unknown parameter ${JSON.stringify(name.slice(0, 64))} (${hint})`)
    }
    if (value === '') throw wrong(`${name}= must have a value`)
    if (parameters[name] !== undefined) throw wrong(`duplicate parameter ${name}`)
    parameters[name] = value
  }
  return parameters
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw wrong('the user, password or token must be percent-encoded', cause)
  }
}

function wrong(what: string, cause?: unknown): RangeError {
  return new RangeError(`invalid NATS URL, expected ${NATS_FORM}, or tls://... for TLS: ${what}`, {
    cause,
  })
}
