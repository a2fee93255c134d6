import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type * as Library from 'acme-client'
import type { Authorization, Client, Order } from 'acme-client'
import { AcmeError, parseRetryAfter } from './acme-error.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

export interface AcmeClientOptions extends TransportOptions {
  /** URL of the directory (RFC 8555 §7.1.1). */
  readonly directory: string
  /** Account key in PEM format. */
  readonly accountKey: string
  /** Contact address; empty if none. */
  readonly email: string
  /** External account binding (RFC 8555 §7.3.4). The id is empty if none is used. */
  readonly eab: { readonly keyId: string; readonly hmacKey: string }
  /** First poll interval in milliseconds; doubles with each attempt. @default 1000 */
  readonly pollMs?: number
}

export interface AcmeOrder {
  readonly host: string
  /**
   * Id of the replaced certificate (RFC 9773 §5). Undefined for the first certificate or if the
   * directory does not support ARI.
   */
  readonly replaces: string | undefined
  /** Publishes the response to a challenge (RFC 8555 §8.3) to all gateways. */
  readonly putToken: (token: string, keyAuthorization: string) => Promise<void>
  readonly removeToken: (token: string) => Promise<void>
}

/** A certificate and its private key in PEM format. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

/** Suggested renewal window (RFC 9773 §4.2). */
export interface RenewalWindow {
  /** Unix time in milliseconds. */
  readonly startMs: number
  readonly endMs: number
  /** Milliseconds until the next check; undefined if the response has no `Retry-After`. */
  readonly retryAfterMs: number | undefined
}

/** An account at an ACME server. */
export interface AcmeClient {
  /** @throws {AcmeError} */
  readonly issue: (order: AcmeOrder) => Promise<Issued>
  /** Returns undefined if the directory does not support ARI. @throws {AcmeError} */
  readonly readWindow: (certificateId: string) => Promise<RenewalWindow | undefined>
}

/**
 * The library tries 6 nonces per request. If every second nonce is rejected, that is too few for an order with ten
 * requests.
 */
const NONCE_ROUNDS = 5
const POLL_ATTEMPTS = 12
const POLL_MAX_MS = 10_000

type Loaded = Pick<typeof Library, 'axios' | 'Client' | 'crypto'>

/** Context of a library call, because several orders run concurrently. */
interface Call {
  readonly transport: Transport
  /** Error of the last response. */
  problem?: AcmeError | undefined
}

/** Associates the library's requests with the call that caused them. */
const calls = new AsyncLocalStorage<Call>()
let loading: Promise<Loaded> | undefined

/**
 * Loads the library and replaces its HTTP client, which has no timeout and hides the cause of
 * errors.
 */
function loadLibrary(): Promise<Loaded> {
  loading ??= import('acme-client').then(({ default: acme }) => {
    acme.axios.defaults.adapter = async (config) => {
      const call = calls.getStore()!
      const { status, headers, body, problem } = await call.transport.send({
        url: config.url!,
        method: config.method!.toUpperCase(),
        headers: config.headers.toJSON() as Record<string, string>,
        body: config.data as string | undefined,
      })
      call.problem = problem
      return { data: body, status, statusText: '', headers, config }
    }
    return acme
  })
  return loading
}

/**
 * Opens or creates the account of a key, agreeing to the directory's terms of service.
 *
 * @throws {AcmeError}
 */
export async function openAcmeClient(options: AcmeClientOptions): Promise<AcmeClient> {
  const { directory, accountKey, email, eab, signal, pollMs = 1000 } = options
  const acme = await loadLibrary()
  const transport = createTransport(options)
  const client = new acme.Client({
    directoryUrl: directory,
    accountKey,
    ...(eab.keyId !== '' && {
      externalAccountBinding: { kid: eab.keyId, hmacKey: eab.hmacKey },
    }),
  })

  /** Calls the library, with retries if only the nonce is rejected. */
  async function call<T>(work: () => Promise<T>): Promise<T> {
    for (let round = 1; ; round++) {
      const call: Call = { transport }
      try {
        return await calls.run(call, work)
      } catch (error) {
        if (error instanceof AcmeError) throw error
        const { problem } = call
        if (problem?.message.startsWith('badNonce') && round < NONCE_ROUNDS) continue
        if (problem !== undefined) throw problem
        throw new AcmeError((error as Error).message, { kind: 'rejected', cause: error })
      }
    }
  }

  /**
   * Polls until `read` returns a value.
   *
   * @throws {AcmeError} `unavailable` after {@link POLL_ATTEMPTS} attempts.
   */
  async function poll<T>(read: () => Promise<T | undefined>, action: string): Promise<T> {
    for (let attempt = 0; attempt < POLL_ATTEMPTS; attempt++) {
      const value = await call(read)
      if (value !== undefined) return value
      await delay(Math.min(pollMs * 2 ** attempt, POLL_MAX_MS), undefined, { signal, ref: false })
    }
    throw new AcmeError(`timeout: the directory did not ${action}`, { kind: 'unavailable' })
  }

  /** Completes the HTTP challenge (RFC 8555 §8.3) and waits for its validation. */
  async function prove(placed: Order, index: number, order: AcmeOrder): Promise<void> {
    const read = async (): Promise<Authorization> =>
      (await client.getAuthorizations(placed))[index]!
    const authorization = await call(read)
    // Already validated for a previous order.
    if (authorization.status === 'valid') return
    const challenge = authorization.challenges.find(isByHttp)
    if (challenge === undefined)
      throw new AcmeError('the directory does not offer the HTTP challenge (http-01)', {
        kind: 'rejected',
      })
    const keyAuthorization = await client.getChallengeKeyAuthorization(challenge)
    await order.putToken(challenge.token, keyAuthorization)
    try {
      await call(() => client.completeChallenge(challenge))
      await poll(async () => {
        const { status, challenges } = await read()
        if (status === 'pending') return undefined
        if (status === 'valid') return true
        throw new AcmeError(explainChallenge(challenges.find(isByHttp)) ?? status, {
          kind: 'rejected',
        })
      }, 'validate the challenge')
    } finally {
      await order.removeToken(challenge.token)
    }
  }

  async function issue(order: AcmeOrder): Promise<Issued> {
    const { host, replaces } = order
    const request = { identifiers: [{ type: 'dns', value: host }], ...(replaces && { replaces }) }
    const placed = await call(() => client.createOrder(request))
    for (const index of placed.authorizations.keys()) await prove(placed, index, order)
    const [key, csr] = await acme.crypto.createCsr(
      { altNames: [host] },
      await acme.crypto.createPrivateEcdsaKey(),
    )
    await call(() => client.finalizeOrder(placed, csr))
    const completed = await poll(async () => {
      const order = await client.getOrder(placed)
      if (order.status === 'invalid')
        throw new AcmeError('the order became invalid', { kind: 'rejected' })
      return order.status === 'valid' ? order : undefined
    }, 'issue the certificate')
    const cert = await call(() => client.getCertificate(completed))
    return { cert, key: key.toString() }
  }

  async function get(url: string) {
    const response = await transport.send({ url, method: 'GET', headers: {}, body: undefined })
    if (response.problem !== undefined) throw response.problem
    return { response, content: parseJson(response.body) }
  }

  async function readWindow(certificateId: string): Promise<RenewalWindow | undefined> {
    const { renewalInfo } = (await get(directory)).content
    if (typeof renewalInfo !== 'string') return undefined
    const { response, content } = await get(`${renewalInfo}/${certificateId}`)
    const { start, end } = (content['suggestedWindow'] ?? {}) as Record<string, unknown>
    const [startMs, endMs] = [Date.parse(String(start)), Date.parse(String(end))]
    if (!(startMs <= endMs))
      throw new AcmeError('the directory returned an invalid renewal window', { kind: 'rejected' })
    const retryAfterMs = parseRetryAfter(response.headers['retry-after'], options.nowMs())
    return { startMs, endMs, retryAfterMs }
  }

  try {
    await call(() =>
      client.createAccount({
        termsOfServiceAgreed: true,
        ...(email !== '' && { contact: [`mailto:${email}`] }),
      }),
    )
  } catch (error) {
    // The library updates an existing account. Without an email address the update is empty, which
    // directories reject.
    if (!hasAccount(client)) throw error
  }
  return { issue, readWindow }
}

function hasAccount(client: Client): boolean {
  try {
    return client.getAccountUrl() !== ''
  } catch {
    return false
  }
}

function isByHttp({ type }: { readonly type: string }): boolean {
  return type === 'http-01'
}

/** Returns the error of a failed challenge (RFC 8555 §8). */
function explainChallenge(challenge: object | undefined): string | undefined {
  const { error } = (challenge ?? {}) as { error?: { type?: unknown; detail?: unknown } }
  return error && `${String(error.type).replace(/^.*:/, '')}: ${String(error.detail)}`
}

function parseJson(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    throw new AcmeError('the directory returned invalid JSON', {
      kind: 'unavailable',
      cause: error,
    })
  }
}
