import { readWorkerCount } from '../../../../core/limits/worker-count.ts'
import { isServiceName } from '../../../../core/registry/service-name.ts'
import { suggest } from '../../../../lib/text/did-you-mean.ts'
import { redactUrl } from '../../../../lib/text/redact.ts'
import type { ConsulAddress } from './http-agent.ts'

/** Options from a `consul://` URL and the environment. */
export interface ConsulUrl extends ConsulAddress {
  readonly domain?: string
  /** See `ConsulRegistryOptions.maxWaiting`. */
  readonly maxWaiting?: number
}

type Environment = Readonly<Record<string, string | undefined>>

const SCHEME = /^consuls?:\/\//
const TLS_PARAMETERS = ['ca', 'cert', 'key']
const PARAMETERS = ['dc', 'domain', 'max_waiting', ...TLS_PARAMETERS]
const MAX_WAITING = 100_000
/**
 * Consul allows 200 connections per address. These are the connections shared by all processes of a
 * gateway, and the connections that each process needs for other purposes.
 */
const SHARED_CONNECTIONS = 190
const OTHER_CONNECTIONS = 17
const MIN_WAITING = 8
/** Characters allowed in a token, which is sent as a header. */
const TOKEN = /^[\x21-\x7e]{1,1024}$/
const PORT = /:(\d+)(?:[/?#]|$)/
const ENV_ADDRESS = /^(?:(https?):\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)?(?::(\d{1,5}))?\/?$/

/**
 * Parses `consul://[token@][host[:port]][?dc=..&domain=..&max_waiting=..&ca=..&cert=..&key=..]`.
 * The `consuls` scheme enables HTTPS. Defaults come from the environment variables of the Consul
 * command line: `CONSUL_HTTP_ADDR`, `CONSUL_HTTP_TOKEN`, `CONSUL_HTTP_SSL`, `CONSUL_CACERT`,
 * `CONSUL_CLIENT_CERT`, `CONSUL_CLIENT_KEY`.
 *
 * @throws {RangeError} with the invalid part and the expected form; tokens are redacted.
 */
export function parseConsulUrl(text: string, env: Environment = process.env): ConsulUrl {
  const url = parseUrl(text)
  const fail = (what: string): RangeError =>
    new RangeError(`${what}: expected consul://[token@]host:port?dc=..., got ${quote(text)}`)
  if (url.password !== '') throw fail('the token before the @ must not contain a colon')
  if (url.pathname !== '' && url.pathname !== '/') throw fail('a Consul URL has no path')
  if (url.hash !== '') throw fail('a Consul URL has no fragment')
  const parameters = readParameters(url)
  const location = readAddress(url) ?? readEnvAddress(env['CONSUL_HTTP_ADDR'] ?? '')
  const secure =
    url.protocol === 'consuls:' || (location.secure ?? readSsl(env['CONSUL_HTTP_SSL'] ?? ''))
  const token = decode(url.username) || env['CONSUL_HTTP_TOKEN'] || undefined
  if (token !== undefined && !TOKEN.test(token))
    throw new RangeError('the Consul token must be visible ASCII characters')
  const { dc, domain } = parameters
  if (domain !== undefined && !isServiceName(domain)) {
    throw new RangeError(
      `consul://...?domain= must be letters, digits and inner dots, dashes or underscores, got ${JSON.stringify(domain.slice(0, 64))}`,
    )
  }
  const caFile = parameters['ca'] || env['CONSUL_CACERT']
  const certFile = parameters['cert'] || env['CONSUL_CLIENT_CERT']
  const keyFile = parameters['key'] || env['CONSUL_CLIENT_KEY']
  const maxWaiting = readMaxWaiting(parameters['max_waiting'], env)
  if (!secure && TLS_PARAMETERS.some((key) => parameters[key]))
    throw fail('certificates require consuls://')
  return {
    host: location.host,
    port: location.port ?? (secure ? 8501 : 8500),
    secure,
    ...(token !== undefined && { token }),
    ...(caFile && { caFile }),
    ...(certFile && { certFile }),
    ...(keyFile && { keyFile }),
    ...(dc && { datacenter: dc }),
    ...(domain && { domain }),
    ...(maxWaiting !== undefined && { maxWaiting }),
  }
}

interface Address {
  readonly host: string
  readonly port: number | undefined
  readonly secure?: boolean | undefined
}

function parseUrl(text: string): URL {
  if (SCHEME.test(text) && URL.canParse(text)) return new URL(text)
  const port = PORT.exec(text.replace(/^.*@/s, ''))?.[1]
  if (SCHEME.test(text) && Number(port) > 65_535) {
    throw new RangeError(
      `the Consul port must be 1 to 65535, got ${port?.slice(0, 20)} in ${quote(text)}`,
    )
  }
  throw new RangeError(
    `the Consul address must be consul://[token@]host:port or consuls://..., got ${quote(text)}`,
  )
}

function readAddress({ hostname, port }: URL): Address | undefined {
  if (hostname === '') return undefined
  if (port === '0') throw new RangeError('the Consul port must be 1 to 65535, got 0')
  return { host: removeBrackets(hostname), port: port === '' ? undefined : Number(port) }
}

function readEnvAddress(text: string): Address {
  const match = ENV_ADDRESS.exec(text)
  const [, scheme, host = '127.0.0.1', port] = match ?? []
  if (match === null || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) {
    throw new RangeError(
      `CONSUL_HTTP_ADDR must be host:port or http(s)://host:port, got ${quote(text)}`,
    )
  }
  // As in the Consul command line, a scheme implies its port.
  const ports: Readonly<Record<string, number>> = { http: 80, https: 443 }
  return {
    host: removeBrackets(host),
    port: port === undefined ? ports[scheme ?? ''] : Number(port),
    secure: scheme === undefined ? undefined : scheme === 'https',
  }
}

function readParameters({ searchParams }: URL): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [key, value] of searchParams) {
    if (!PARAMETERS.includes(key)) {
      const near = suggest(key, PARAMETERS)
      const hint =
        near === undefined ? `expected ${PARAMETERS.join(', ')}` : `did you mean ${near}?`
      throw new RangeError(
        `unknown parameter ${JSON.stringify(key.slice(0, 64))} of consul://: ${hint}`,
      )
    }
    if (value === '') throw new RangeError(`consul://...?${key}= must have a value`)
    result[key] = value
  }
  return result
}

/** Returns undefined for the default of the registry. */
function readMaxWaiting(text: string | undefined, env: Environment): number | undefined {
  const workers = readWorkerCount(env)
  if (text === undefined) {
    if (workers === 1) return undefined
    return Math.max(MIN_WAITING, Math.floor(SHARED_CONNECTIONS / workers) - OTHER_CONNECTIONS)
  }
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= MAX_WAITING) return value
  throw new RangeError(
    `consul://...?max_waiting= must be 1 to ${MAX_WAITING}, got ${JSON.stringify(text.slice(0, 64))}`,
  )
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new RangeError('the token in consul://token@... must be percent-encoded', { cause })
  }
}

/** Rejects all other values, because a typo must not cause a token to be sent unencrypted. */
function readSsl(text: string): boolean {
  const value = text.toLowerCase()
  if (['1', 't', 'true'].includes(value)) return true
  if (['', '0', 'f', 'false'].includes(value)) return false
  throw new RangeError(
    `CONSUL_HTTP_SSL must be true or false, got ${JSON.stringify(text.slice(0, 64))}`,
  )
}

function removeBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host
}

/** Quotes a text with redacted tokens. */
function quote(text: string): string {
  return JSON.stringify(redactUrl(text).slice(0, 200))
}
