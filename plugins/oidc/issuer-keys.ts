import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import { createPinnedLookup } from '../../core/egress/pinned-lookup.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { toConnectDetail } from '../../core/upstream/connect-error.ts'

export interface IssuerKeysOptions {
  /** The operator's, as what it says of its keys: the outgoing address policy does not apply. */
  readonly issuer: string
  /** Empty: the issuer tells it (OpenID Connect Discovery 1.0). */
  readonly jwksUri: string
  /** Decides where the issuer may say that its keys are. */
  readonly egress: Pick<EgressPolicy, 'resolveKeys'>
  readonly log: PluginLog
  /** Called when a key is gone. */
  readonly onClosed: () => void
  /** Unix time. */
  readonly nowMs: () => number
}

/** Asked this often at most, whatever keys tokens name. */
const COOL_DOWN_MS = 30_000
/** Keys that are older are asked for again; until there are others they stay in force. */
const FRESH_MS = 600_000
const TIMEOUT_MS = 5000
const MAX_BYTES = 1024 * 1024

/** The keys of an issuer of tokens: fetched when they are first needed, and again when they are old or one is missing. */
export interface IssuerKeys {
  /** The key a token names. Rejects with `JWKSNoMatchingKey` when there is none, with another error when there have never been any. */
  readonly find: JWTVerifyGetKey
}

export function createIssuerKeys(options: IssuerKeysOptions): IssuerKeys {
  const { issuer, egress, log, onClosed, nowMs } = options
  let found: JWTVerifyGetKey | undefined
  let names: ReadonlySet<string> = new Set()
  let fetchedMs = Number.NEGATIVE_INFINITY
  let requestedMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined
  let failure: Error | undefined

  async function ask(): Promise<void> {
    const { url, lookup } =
      options.jwksUri === '' ? await discover(issuer, egress) : { url: new URL(options.jwksUri) }
    const jwks = (await fetchJson(url, lookup)) as unknown as JSONWebKeySet
    // Throws for what is no set of keys.
    found = createLocalJWKSet(jwks)
    const before = names
    names = new Set(jwks.keys.map((key) => JSON.stringify([key.kid, key.kty, key.x, key.n])))
    fetchedMs = nowMs()
    if ([...before].some((name) => !names.has(name))) onClosed()
  }

  /** Asks, unless it did lately. */
  function refresh(): Promise<void> {
    if (asking !== undefined) return asking
    if (nowMs() - requestedMs < COOL_DOWN_MS) return Promise.resolve()
    requestedMs = nowMs()
    asking = ask()
      .then(
        () => {
          if (failure !== undefined) log.info({ issuer }, 'the keys of the issuer are had again')
          failure = undefined
        },
        (error: Error) => {
          if (failure === undefined)
            log.warn({ issuer, reason: error.message }, 'the keys of the issuer cannot be had')
          failure = error
        },
      )
      .finally(() => {
        asking = undefined
      })
    return asking
  }

  return {
    async find(header, token) {
      if (found === undefined) await refresh()
      else if (nowMs() - fetchedMs > FRESH_MS) void refresh()
      // Not as the library's own, which say what is wrong with a token.
      if (found === undefined)
        throw new Error('the keys of the issuer are not known', { cause: failure })
      try {
        return await found(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        await refresh()
        return found(header, token)
      }
    },
  }
}

/**
 * Whether what is at this URL may be believed: nobody between can change it. On this machine plain HTTP will do.
 *
 * @throws {TypeError} saying what it must be.
 */
export function checkUrl(text: string, what: string, mayBeLoopback = true): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isLoopback = url?.protocol === 'http:' && LOOPBACK.test(url.hostname)
  if (url?.protocol === 'https:' || (isLoopback && mayBeLoopback)) {
    if (url!.username === '' && url!.password === '' && url!.hash === '') return url!
  }
  throw new TypeError(
    `${what} must be a URL that begins with https:// (http:// on loopback), without user, password and #, got ${JSON.stringify(text.slice(0, 200))}`,
  )
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Where keys are. */
interface KeysPlace {
  readonly url: URL
  /** Answers with the addresses that the policy allowed; undefined: the system resolves the name. */
  readonly lookup?: LookupFunction
}

/** What an issuer says of itself is believed about itself only (OpenID Connect Discovery 1.0 §4.3). */
async function discover(issuer: string, egress: IssuerKeysOptions['egress']): Promise<KeysPlace> {
  const base = issuer.replace(/\/$/, '')
  const { issuer: named, jwks_uri: uri } = await fetchJson(
    new URL(`${base}/.well-known/openid-configuration`),
  )
  if (named !== issuer) throw new Error('the discovery document is of another issuer')
  if (typeof uri !== 'string') throw new Error('the discovery document has no jwks_uri')
  return locateKeys(uri, issuer, egress)
}

/**
 * Checks the `jwks_uri` of a discovery document. On another host than the issuer's it is subject to the outgoing address policy.
 *
 * @throws {TypeError} for a URL that is not secure.
 * @throws {GatewayError} as {@link EgressPolicy.resolveKeys}. Rejects.
 */
export async function locateKeys(
  uri: string,
  issuer: string,
  egress: IssuerKeysOptions['egress'],
): Promise<KeysPlace> {
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
    throw new Error(`${url} does not answer: ${toConnectDetail(error)}`, { cause: error })
  })
  // A redirect would lead to an address that nothing has checked.
  if (reply.statusCode !== 200) {
    reply.destroy()
    throw new Error(`${url} answers ${reply.statusCode}`)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of reply) {
    bytes += (chunk as Uint8Array).length
    if (bytes > MAX_BYTES) throw new Error(`${url} answers more than ${MAX_BYTES} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  const value: unknown = JSON.parse(Buffer.concat(chunks).toString())
  if (typeof value !== 'object' || value === null) throw new Error(`${url} answers no JSON object`)
  return value as Record<string, unknown>
}

/** Sends a GET and resolves with the response, whose body is ended with the time limit, too. */
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
