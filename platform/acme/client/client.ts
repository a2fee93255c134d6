import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type * as Library from 'acme-client'
import type { Authorization, Client, Order } from 'acme-client'
import { AcmeError, parseRetryAfter } from './acme-error.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

export interface AcmeClientOptions extends TransportOptions {
  /** URL of the directory (RFC 8555 §7.1.1). */
  readonly directory: string
  /** PEM. */
  readonly accountKey: string
  /** Empty: none is given. */
  readonly email: string
  /** External account binding (RFC 8555 §7.3.4); an empty id: there is none. */
  readonly eab: { readonly keyId: string; readonly hmacKey: string }
  /** Milliseconds until an order is looked at again, at first; it doubles. @default 1000 */
  readonly pollMs?: number
}

/** What is ordered. */
export interface AcmeOrder {
  readonly host: string
  /** Id of the certificate that is replaced (RFC 9773 §5); undefined: none is, or the directory does not ask for it. */
  readonly replaces: string | undefined
  /** Has a challenge answered (RFC 8555 §8.3), by every gateway. */
  readonly putToken: (token: string, keyAuthorization: string) => Promise<void>
  /** It need not be answered any more. */
  readonly removeToken: (token: string) => Promise<void>
}

/** A certificate and the key that was made for it, PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

/** When a directory wants a certificate to be renewed (RFC 9773 §4.2). */
export interface RenewalWindow {
  /** Unix time, milliseconds. */
  readonly startMs: number
  readonly endMs: number
  /** Milliseconds until it is to be asked again; undefined: it did not say. */
  readonly retryAfterMs: number | undefined
}

/** An account at an ACME server. */
export interface AcmeClient {
  /** @throws {AcmeError} */
  readonly issue: (order: AcmeOrder) => Promise<Issued>
  /** Undefined: the directory does not say. @throws {AcmeError} */
  readonly readWindow: (certificateId: string) => Promise<RenewalWindow | undefined>
}

/** The library tries a nonce 6 times; where every second one is refused that is not enough for an order of ten requests. */
const NONCE_ROUNDS = 5
const POLL_ATTEMPTS = 12
const POLL_MAX_MS = 10_000

type Loaded = Pick<typeof Library, 'axios' | 'Client' | 'crypto'>

/** What the library is doing: several orders go on at a time. */
interface Call {
  readonly transport: Transport
  /** Why the last answer was none of success. */
  problem?: AcmeError | undefined
}

/** Whose requests those of the library are. */
const calls = new AsyncLocalStorage<Call>()
let loading: Promise<Loaded> | undefined

/** Loads the library, and has it send by {@link calls}: its own way neither tells what fails nor ever gives up waiting. */
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
 * Opens the account of a key, and makes it where there is none: whoever uses this agrees to the terms of service.
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

  /** A request of the library, again while nothing but the nonce is wrong. */
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
        throw new AcmeError((error as Error).message, { kind: 'refused', cause: error })
      }
    }
  }

  /** Asks until there is an answer that is one, or it takes too long. */
  async function poll<T>(read: () => Promise<T | undefined>, what: string): Promise<T> {
    for (let attempt = 0; attempt < POLL_ATTEMPTS; attempt++) {
      const found = await call(read)
      if (found !== undefined) return found
      await delay(Math.min(pollMs * 2 ** attempt, POLL_MAX_MS), undefined, { signal, ref: false })
    }
    throw new AcmeError(`the directory takes too long to ${what}`, { kind: 'away' })
  }

  /** Answers the challenge by HTTP (RFC 8555 §8.3), and waits until it was seen. */
  async function prove(placed: Order, index: number, order: AcmeOrder): Promise<void> {
    const read = async (): Promise<Authorization> =>
      (await client.getAuthorizations(placed))[index]!
    const authorization = await call(read)
    // Of an order before.
    if (authorization.status === 'valid') return
    const challenge = authorization.challenges.find(isByHttp)
    if (challenge === undefined)
      throw new AcmeError('the directory offers no challenge by HTTP (http-01)', {
        kind: 'refused',
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
          kind: 'refused',
        })
      }, 'look at the challenge')
    } finally {
      await order.removeToken(challenge.token)
    }
  }

  async function issue(order: AcmeOrder): Promise<Issued> {
    const { host, replaces } = order
    const wanted = { identifiers: [{ type: 'dns', value: host }], ...(replaces && { replaces }) }
    const placed = await call(() => client.createOrder(wanted))
    for (const index of placed.authorizations.keys()) await prove(placed, index, order)
    const [key, csr] = await acme.crypto.createCsr(
      { altNames: [host] },
      await acme.crypto.createPrivateEcdsaKey(),
    )
    await call(() => client.finalizeOrder(placed, csr))
    const done = await poll(async () => {
      const found = await client.getOrder(placed)
      if (found.status === 'invalid')
        throw new AcmeError('the order has become invalid', { kind: 'refused' })
      return found.status === 'valid' ? found : undefined
    }, 'make the certificate')
    const cert = await call(() => client.getCertificate(done))
    return { cert, key: key.toString() }
  }

  async function get(url: string) {
    const reply = await transport.send({ url, method: 'GET', headers: {}, body: undefined })
    if (reply.problem !== undefined) throw reply.problem
    return { reply, content: parseJson(reply.body) }
  }

  async function readWindow(certificateId: string): Promise<RenewalWindow | undefined> {
    const { renewalInfo } = (await get(directory)).content
    if (typeof renewalInfo !== 'string') return undefined
    const { reply, content } = await get(`${renewalInfo}/${certificateId}`)
    const { start, end } = (content['suggestedWindow'] ?? {}) as Record<string, unknown>
    const [startMs, endMs] = [Date.parse(String(start)), Date.parse(String(end))]
    if (!(startMs <= endMs))
      throw new AcmeError('the directory suggests no window for the renewal', { kind: 'refused' })
    const retryAfterMs = parseRetryAfter(reply.headers['retry-after'], options.nowMs())
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
    // The library updates an account that was there, perhaps with nothing, which directories refuse.
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

/** Why a challenge is not taken for answered (RFC 8555 §8). */
function explainChallenge(challenge: object | undefined): string | undefined {
  const { error } = (challenge ?? {}) as { error?: { type?: unknown; detail?: unknown } }
  return error && `${String(error.type).replace(/^.*:/, '')}: ${String(error.detail)}`
}

function parseJson(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    throw new AcmeError('the directory answers something that is no JSON', {
      kind: 'away',
      cause: error,
    })
  }
}
