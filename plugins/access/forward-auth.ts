import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { RESERVED_HEADERS } from '../../core/http/hop-by-hop.ts'
import { schemeOf } from '../../core/http/scheme.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { type Static, Type } from '../../core/schema.ts'
import { parseDuration, parseSize } from '../../lib/text/units.ts'
import { createDecisionCache } from './forward-auth/decision-cache.ts'
import { createHttpClient, type HttpReply } from './forward-auth/http-client.ts'

const options = Type.Object({
  address: Type.String({
    description:
      'URL of the authentication server, such as http://127.0.0.1:9091/api/authz/forward-auth.',
  }),
  auth_request_headers: Type.Array(Type.String(), {
    default: [],
    description: 'Request headers to send to the authentication server; all if empty.',
  }),
  auth_response_headers: Type.Array(Type.String(), {
    default: [],
    description:
      'Headers to copy from its response to the request, such as Remote-User. Client headers with these names are removed.',
  }),
  trust_forward_header: Type.Boolean({
    default: false,
    description:
      'Send X-Forwarded-Method and X-Forwarded-Uri of the request, if a proxy in front sets them.',
  }),
  timeout: Type.String({ default: '5s', description: 'Timeout for its response.' }),
  max_response_body_size: Type.String({
    default: '64kb',
    description: 'Maximum length of its response body; longer responses cause a 503.',
  }),
  cache: Type.Optional(
    Type.Object({
      ttl: Type.String({ description: 'Cache lifetime of a positive decision.' }),
      max_entries: Type.Integer({
        default: 10_000,
        minimum: 1,
        maximum: 1_000_000,
        description: 'Maximum number of cached decisions.',
      }),
      key: Type.Array(Type.String(), {
        minItems: 1,
        description:
          'All request headers on which the server bases its decision, such as Authorization and Cookie; method, URL and client address are always part of the key.',
      }),
    }),
  ),
})

/** Headers about the body and about stored responses, which do not describe the request to the server. */
const NOT_SENT = /^(?:content-|if-|range$|expect$|host$|x-forwarded-)/
/** Headers from a proxy in front that describe the request. */
const TRUSTED = ['x-forwarded-method', 'x-forwarded-uri']
/** Headers on which the server decides, even if its response replaces them. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie'])
/** Headers that must not be set from a response because they frame or route the request. */
const RESERVED: ReadonlySet<string> = new Set([...RESERVED_HEADERS, 'host', 'expect'])

/**
 * Authenticates each request with an HTTP server. 2xx admits the request; any other response is sent to the client.
 * Fails closed with 503 while the server is unreachable.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'forward-auth',
  description: 'Authenticates requests with an external HTTP server.',
  options,
  create(settings, { nowMs }) {
    const client = createHttpClient({
      url: parseAddress(settings.address),
      timeoutMs: parseTime('timeout', settings.timeout),
      maxBodyBytes: parseBytes(settings.max_response_body_size),
    })
    const toHeaders = compileHeaders(settings)
    const copied = toNames('auth_response_headers', settings.auth_response_headers)
    for (const name of copied)
      if (RESERVED.has(name))
        throw new TypeError(`auth_response_headers: the gateway manages the header ${name}`)
    const claims = new Set([...copied].filter((name) => !CREDENTIALS.has(name)))
    const trustedHeaders = settings.trust_forward_header ? TRUSTED : []
    const cache = settings.cache && openCache(settings.cache, trustedHeaders, nowMs)

    function admit(x: Exchange, headers: readonly string[]): void {
      x.hasCaller = true
      for (let i = 0; i < headers.length; i += 2) x.headers.append(headers[i]!, headers[i + 1]!)
    }

    async function query(x: Exchange, key: string | undefined): Promise<void> {
      let reply: HttpReply
      try {
        const pending = client.get(toHeaders(x))
        removeAll(x.headers, copied)
        reply = await pending
      } catch (error) {
        x.failure = `authentication server: ${(error as Error).message}`
        throw unavailable(error)
      }
      if (x.answered) return
      if (reply.status < 200 || reply.status > 299) return deny(x, reply)
      const headers = pick(reply.headers, (name) => copied.has(name))
      if (key !== undefined && !isUncacheable(reply)) cache?.set(key, headers)
      admit(x, headers)
    }

    return {
      onRequest(x) {
        const key = cache?.toKey(x)
        removeAll(x.headers, claims)
        const cached = key === undefined ? undefined : cache!.get(key)
        if (cached === undefined) return query(x, key)
        removeAll(x.headers, copied)
        return admit(x, cached)
      },
      close: client.close,
    }
  },
})

export default plugin

function parseAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url === undefined || !isHttp || url.username !== '' || url.hash !== '')
    throw new TypeError(
      'address must be a URL such as http://127.0.0.1:9091/verify, without user name and fragment',
    )
  return url
}

function parseTime(name: string, text: string): number {
  let ms: number
  try {
    ms = parseDuration(text)
  } catch (error) {
    throw new RangeError(`${name} ${(error as Error).message}`, { cause: error })
  }
  if (ms > 0 && ms <= 86_400_000) return ms
  throw new RangeError(`${name} must be more than 0 and at most 1d, got ${text}`)
}

function parseBytes(text: string): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new RangeError(`max_response_body_size ${(error as Error).message}`, { cause: error })
  }
}

/** Converts names to lower case. @throws {TypeError} for a name that is not a token. */
function toNames(option: string, names: readonly string[]): ReadonlySet<string> {
  const lower = names.map((name) => name.toLowerCase())
  try {
    new HeaderList(lower.filter((name) => !RESERVED.has(name)).flatMap((name) => [name, '']))
  } catch (error) {
    throw new TypeError(`${option}: ${(error as Error).message}`, { cause: error })
  }
  return new Set(lower)
}

function openCache(
  { ttl, max_entries: maxEntries, key }: NonNullable<Static<typeof options>['cache']>,
  trustedHeaders: readonly string[],
  nowMs: () => number,
) {
  const names = [...toNames('cache.key', key)]
  const ttlMs = parseTime('cache.ttl', ttl)
  return createDecisionCache({ ttlMs, maxEntries, key: names, trustedHeaders, nowMs })
}

/**
 * Compiles the headers for the authentication server. Forwarding headers describe the request as received by the
 * gateway.
 */
function compileHeaders({
  auth_request_headers,
  trust_forward_header: isTrusted,
}: Static<typeof options>): (x: Exchange) => string[] {
  const configuredNames = toNames('auth_request_headers', auth_request_headers)
  return (x) => {
    const received = (name: string): string | undefined =>
      isTrusted ? x.headers.get(name) : undefined
    const isSent = (name: string): boolean =>
      !NOT_SENT.test(name) && (configuredNames.size === 0 || configuredNames.has(name))
    const { clientAddress } = x
    return [
      ...pick(x.headers.flat, isSent),
      ...['X-Forwarded-Method', received('x-forwarded-method') ?? x.method],
      ...['X-Forwarded-Proto', schemeOf(x)],
      ...['X-Forwarded-Host', x.host],
      ...['X-Forwarded-Uri', received('x-forwarded-uri') ?? x.originalTarget],
      ...(clientAddress === '' ? [] : ['X-Forwarded-For', clientAddress]),
    ]
  }
}

/** Returns headers whose lower-case name passes the filter. */
function pick(flat: readonly string[], isPicked: (name: string) => boolean): string[] {
  const picked: string[] = []
  for (let i = 0; i < flat.length; i += 2)
    if (isPicked(flat[i]!.toLowerCase())) picked.push(flat[i]!, flat[i + 1]!)
  return picked
}

/**
 * Also removes names with underscores, which many servers read as dashes, since clients must not choose their identity.
 */
function removeAll(headers: HeaderList, names: ReadonlySet<string>): void {
  if (names.size === 0) return
  const found = pick(
    headers.flat,
    (name) => names.has(name) || names.has(name.replaceAll('_', '-')),
  )
  for (let i = 0; i < found.length; i += 2) headers.delete(found[i]!)
}

function isUncacheable({ headers }: HttpReply): boolean {
  const control = pick(headers, (name) => name === 'cache-control')
  return control.some((value) => /(?:^|[\s,])(?:no-store|no-cache)(?:$|[\s,])/i.test(value))
}

function deny(x: Exchange, { status, headers, body }: HttpReply): void {
  const list = new HeaderList(pick(headers, (name) => !RESERVED_HEADERS.has(name)))
  // A denial applies to one caller at one moment.
  if (!list.has('cache-control')) list.append('cache-control', 'no-store')
  x.send(status, list, body)
}

function unavailable(cause: unknown): GatewayError {
  const detail = 'the authentication server is unavailable'
  return new GatewayError(GATEWAY_ID, 503, detail, { cause, headers: ['retry-after', '1'] })
}
