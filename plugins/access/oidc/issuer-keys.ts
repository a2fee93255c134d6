import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { EgressPolicy } from '../../../core/egress/egress-policy.ts'
import { createPinnedLookup } from '../../../core/egress/pinned-lookup.ts'
import type { PluginLog } from '../../../core/plugin/define.ts'
import { toConnectDetail } from '../../../core/upstream/connect-error.ts'

export interface IssuerKeysOptions {
  /** Configured by the operator, so the outgoing address policy does not apply to it. */
  readonly issuer: string
  /** Empty if determined by OpenID Connect Discovery 1.0. */
  readonly jwksUri: string
  /** Applies to a `jwks_uri` from the discovery document. */
  readonly egress: Pick<EgressPolicy, 'resolveKeys'>
  readonly log: PluginLog
  /** Called when the issuer has removed a key. */
  readonly onClosed: () => void
  /** Returns the Unix time in milliseconds. */
  readonly nowMs: () => number
}

/** Minimum time between fetches, even for tokens with unknown key ids. */
const COOL_DOWN_MS = 30_000
/** Age at which keys are refreshed. They stay valid until the fetch succeeds. */
const FRESH_MS = 600_000
const TIMEOUT_MS = 5000
const MAX_BYTES = 1024 * 1024

/** Signing keys of an issuer, fetched on first use, when stale, and when a key is missing. */
export interface IssuerKeys {
  /**
   * Finds the key of a token. Rejects with `JWKSNoMatchingKey` if no key matches, or with another error if no fetch has
   * succeeded.
   */
  readonly find: JWTVerifyGetKey
}

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, egress, log, onClosed, nowMs } = options
  let keySet: JWTVerifyGetKey | undefined
  let knownKeys: ReadonlySet<string> = new Set()
  let fetchedMs = Number.NEGATIVE_INFINITY
  let requestedMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined
  let failure: Error | undefined

  async function fetchKeys(): Promise<void> {
    const { url, lookup } =
      options.jwksUri === '' ? await discover(issuer, egress) : { url: new URL(options.jwksUri) }
    const jwks = (await fetchJson(url, lookup)) as unknown as JSONWebKeySet
    // Throws if the key set is malformed.
    keySet = createLocalJWKSet(jwks)
    const previousKeys = knownKeys
    knownKeys = new Set(jwks.keys.map((key) => JSON.stringify([key.kid, key.kty, key.x, key.n])))
    fetchedMs = nowMs()
    if ([...previousKeys].some((name) => !knownKeys.has(name))) onClosed()
  }

  /** Fetches the keys, at most once per {@link COOL_DOWN_MS}. */
  function refresh(): Promise<void> {
    if (fetching !== undefined) return fetching
    if (nowMs() - requestedMs < COOL_DOWN_MS) return Promise.resolve()
    requestedMs = nowMs()
    fetching = fetchKeys()
      .then(
        () => {
          if (failure !== undefined) log.info({ issuer }, 'signing keys available again')
          failure = undefined
        },
        (error: Error) => {
          if (failure === undefined)
            log.warn(
              { issuer, reason: error.message },
              'cannot fetch the signing keys of the issuer',
            )
          failure = error
        },
      )
      .finally(() => {
        fetching = undefined
      })
    return fetching
  }

  return {
    async find(header, token) {
      if (keySet === undefined) await refresh()
      else if (nowMs() - fetchedMs > FRESH_MS) void refresh()
      // Not an error class of the library, whose errors indicate an invalid token.
      if (keySet === undefined)
        throw new Error('the signing keys of the issuer are unavailable', { cause: failure })
      try {
        return await keySet(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        await refresh()
        return keySet(header, token)
      }
    },
  }
}

/**
 * Checks that a URL uses HTTPS, or HTTP on loopback, so that responses cannot be modified in transit.
 *
 * @throws {TypeError} for other URLs.
 */
export function checkUrl(text: string, label: string, mayBeLoopback = true): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLoopback = url?.protocol === 'http:' && LOOPBACK.test(url.hostname)
  if (url?.protocol === 'https:' || (isLoopback && mayBeLoopback)) {
    if (url!.username === '' && url!.password === '' && url!.hash === '') return url!
  }
  throw new TypeError(
    `${label} must be an https:// URL (or http:// on loopback) without user, password and #, got ${JSON.stringify(text.slice(0, 200))}`,
  )
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

interface KeySetLocation {
  readonly url: URL
  /** Returns the addresses allowed by the policy; undefined for the system resolver. */
  readonly lookup?: LookupFunction
}

/** Checks that the discovery document belongs to the issuer (OpenID Connect Discovery 1.0 §4.3). */
async function discover(
  issuer: string,
  egress: IssuerKeysOptions['egress'],
): Promise<KeySetLocation> {
  const base = issuer.replace(/\/$/, '')
  const { issuer: documentIssuer, jwks_uri: uri } = await fetchJson(
    new URL(`${base}/.well-known/openid-configuration`),
  )
  if (documentIssuer !== issuer) throw new Error('the discovery document has a different issuer')
  if (typeof uri !== 'string') throw new Error('the discovery document has no jwks_uri')
  return locateKeys(uri, issuer, egress)
}

/**
 * Checks the `jwks_uri` of a discovery document. The outgoing address policy applies unless it has the issuer's host.
 *
 * @throws {TypeError} for an insecure URL.
 * @throws {GatewayError} by rejecting, see {@link EgressPolicy.resolveKeys}.
 */
export async function locateKeys(
  uri: string,
  issuer: string,
  egress: IssuerKeysOptions['egress'],
): Promise<KeySetLocation> {
  const { protocol, hostname } = new URL(issuer)
  const mayBeLoopback = protocol === 'http:'
  const url = checkUrl(uri, 'jwks_uri', mayBeLoopback)
  if (url.hostname === hostname) return { url }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (url.protocol === 'http:' ? 80 : 443))
  const addresses = await egress.resolveKeys({ host, port, mayBeLoopback }, 'oidc')
  return { url, lookup: createPinnedLookup(addresses) }
}

async function fetchJson(url: URL, lookup?: LookupFunction): Promise<Record<string, unknown>> {
  const reply = await request(url, lookup).catch((error: Error) => {
    throw new Error(`${url} is unreachable: ${toConnectDetail(error)}`, { cause: error })
  })
  // A redirect would lead to an unchecked address.
  if (reply.statusCode !== 200) {
    reply.destroy()
    throw new Error(`${url} responded with status ${reply.statusCode}`)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of reply) {
    bytes += (chunk as Uint8Array).length
    if (bytes > MAX_BYTES) throw new Error(`the response from ${url} exceeds ${MAX_BYTES} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
  if (typeof value !== 'object' || value === null)
    throw new Error(`the response from ${url} is not a JSON object`)
  return value as Record<string, unknown>
}

/** Sends a GET request and resolves with the response. The timeout includes the body. */
function request(url: URL, lookup: LookupFunction | undefined): Promise<IncomingMessage> {
  const get = url.protocol === 'http:' ? getHttp : getHttps
  return new Promise((resolve, reject) => {
    get(
      url,
      {
        headers: { accept: 'application/json' },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        agent: false,
        ...(lookup && { lookup }),
      },
      resolve,
    ).on('error', reject)
  })
}
