import type { Registry } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import { isServiceName } from '../../core/registry/service-name.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import { createAccountTokens } from '../auth/account-tokens.ts'
import {
  type Credentials,
  findCredentials,
  type ResolvedCredentials,
  toPlatform,
} from '../auth/credentials.ts'
import { createFixedToken, type LoginReply } from '../auth/token-source.ts'
import { internalsOf } from '../internal/internals.ts'
import { toLocalService } from '../internal/local-services.ts'
import { DEFAULT_NAMESPACE } from '../namespace.ts'
import { toRegistrySource } from '../registry/open-registry.ts'
import type { Service } from '../service/service.ts'
import type { Traces } from '../tracing/traces.ts'
import { type CallDetails, formatCallMetadata } from './call-metadata.ts'
import type { CallPlan, CallRouter } from './call-options.ts'
import { ClientClosedError } from './client-closed.ts'
import { beginNow } from './deferred-start.ts'
import { readProxyAddress } from './proxy-address.ts'
import { createServiceProxy, type ServiceProxy } from './service-proxy.ts'
import { CallStream } from './streams/call-stream.ts'
import { type Requests, StreamCall } from './streams/stream-call.ts'
import { ClientTargets } from './targets.ts'
import { UnaryCall } from './unary-call.ts'

/** Options of a call. */
export interface CallOptions extends CallDetails {
  /**
   * Milliseconds for the entire call including retries; Infinity for no deadline. Limited by the deadline of the
   * context.
   * @default timeout of the client; none for a stream
   */
  readonly timeoutMs?: number
  /** Maximum retries after 500 or 408. Streams are never retried. @default retries of the client */
  readonly retries?: number
  /**
   * Node to call: `host:port`, optionally with the scheme `mx://`, `mxs://`, `http://` or `https://`. Receives the
   * client's token only if it is registered or configured as the client's address.
   * @default a node from the registry
   */
  readonly address?: string
  /** Cancels the call when it aborts, in addition to the signal of the context. */
  readonly signal?: AbortSignal
  /**
   * Return responses as the JSON text of the service, which preserves numbers that exceed the precision of JavaScript.
   * @default false
   */
  readonly asText?: boolean
}

/** Options of {@link Client}. */
export interface ClientOptions {
  /** Registry, or its address: `mx://host:port` and others (docs/registry.md). @default `MX_REGISTRY`, else none */
  readonly registry?: Registry | string
  /** Address for all calls, like {@link CallOptions.address}; takes precedence over the registry. */
  readonly address?: string
  /**
   * RPC proxy of a platform for all calls to other processes: `host:port`, or `mxs://host:port` over TLS.
   * @default `MX_PROXY` without a registry and an address, else none
   */
  readonly proxy?: string
  /**
   * Access token for calls without a context. Calls with a context pass on the token of their caller.
   * @default token from `auth`
   */
  readonly token?: string
  /**
   * Account to log in with; its tokens are renewed automatically.
   * @default if the platform address is known (from registry, proxy or `MX_PROXY`), `MX_AUTH_ID` and `MX_AUTH_SECRET`,
   * then, for a platform on this machine, `~/.mx/service_credentials` of a server of the same user; else none
   */
  readonly auth?: Credentials
  /** Namespace of calls whose context has none. @default namespace of the account, unless it is `mx`; else none */
  readonly namespace?: string
  /** @default 10000 */
  readonly timeoutMs?: number
  /** Maximum number of retries. @default 1 */
  readonly retries?: number
  /**
   * Services in this process, called without sockets. Services started with the same registry are found automatically.
   */
  readonly services?: readonly Service<object>[]
  /** Call services in this process without sockets. @default true */
  readonly inProcess?: boolean
  /**
   * Records calls for `Debug.Trace`. The client of a service uses the recorder of the service.
   * @default none
   */
  readonly traces?: Traces
}

/** Visible ASCII, valid in request targets and headers. */
const ENDPOINT = /^[\x21-\x7e]{1,253}$/
const DEFAULT: CallOptions = {}
const CALL_OPTIONS: KnownOptions<CallOptions> = {
  context: true,
  namespace: true,
  metadata: true,
  timeoutMs: true,
  retries: true,
  address: true,
  signal: true,
  asText: true,
}
const OPTIONS: KnownOptions<ClientOptions> = {
  registry: true,
  address: true,
  proxy: true,
  token: true,
  auth: true,
  namespace: true,
  timeoutMs: true,
  retries: true,
  services: true,
  inProcess: true,
  traces: true,
}

/**
 * Calls services by name, load-balanced across their healthy nodes.
 *
 * ```ts
 * const client = new Client({ registry })
 * const { message } = await client.service<Helloworld>('helloworld').Helloworld.call({ name: 'John' })
 * const reply = await client.call('helloworld', 'Helloworld.Call', { name: 'John' })
 * ```
 *
 * Failed calls reject with a typed error (`GatewayError`, also called `ServiceError`): the error returned by the
 * service, 404 for an unknown service, 503 if no node is available, 502 for a failed connection, or 408 after the
 * deadline, when the service is notified to stop. A cancelled call rejects with the reason of its signal. Nodes are
 * selected by round-robin; failing nodes are ejected temporarily.
 */
export class Client {
  readonly #targets: ClientTargets
  readonly #owner: CallRouter
  readonly #tokens: TokenSource | undefined
  readonly #namespace: string
  readonly #timeoutMs: number
  readonly #retries: number
  readonly #closing = new AbortController()

  /**
   * @throws {TypeError} for an unknown option, or an invalid timeout, number of retries, address, proxy or registry
   * address.
   */
  constructor(options: ClientOptions = {}) {
    rejectUnknownOptions('new Client', options, OPTIONS)
    const { registry, address, services = [], inProcess = true, traces } = options
    const isConfigured = registry !== undefined || address !== undefined
    const source = toRegistrySource(registry)
    const proxyAddress = readProxyAddress(options.proxy, isConfigured)
    const platform = proxyAddress ?? toPlatform(source)
    const credentials = resolveCredentials(options, platform)
    const domain = credentials?.namespace ?? DEFAULT_NAMESPACE
    // A registry client sees one domain, while the proxy gives access to every service that can be called from there.
    const proxy = proxyAddress ?? (domain === DEFAULT_NAMESPACE ? undefined : toProxy(source))
    if (proxy !== undefined && address !== undefined)
      throw new TypeError('new Client: address and proxy are mutually exclusive')
    this.#namespace = options.namespace ?? (domain === DEFAULT_NAMESPACE ? '' : domain)
    this.#timeoutMs = toTimeout(options.timeoutMs ?? 10_000)
    this.#retries = toRetries(options.retries ?? 1)
    const targets = new ClientTargets({
      registry: source ?? proxy,
      domain,
      address,
      proxy,
      services: services.map(toLocalService),
      inProcess,
      tokens: () => this.#tokens,
    })
    this.#targets = targets
    const { signal: closing } = this.#closing
    this.#owner = {
      find: (service, at) => targets.find(service, at),
      isKnown: (service, at) => targets.isKnown(service, at),
      ...{ proxy, closing, traces },
    }
    this.#tokens = this.#createTokens(options.token, credentials, platform)
    if (this.#tokens !== undefined) internalsOf(this).tokens = this.#tokens
  }

  /**
   * Calls an endpoint with one request and one response.
   *
   * @param service full name.
   * @param endpoint `<Handler>.<Method>`
   * @param request a JSON value. @default a message without fields
   * @returns the parsed JSON of the response.
   */
  call<R = unknown>(
    service: string,
    endpoint: string,
    request?: unknown,
    options: CallOptions = DEFAULT,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      // Errors thrown here become rejections.
      const plan = this.#plan(service, endpoint, options, this.#timeoutMs)
      const resolveReply = resolve as (reply: unknown) => void
      new UnaryCall(this.#owner, plan, request, resolveReply, reject).begin()
    })
  }

  /**
   * Calls a streaming endpoint. Without a `timeoutMs`, there is no deadline.
   *
   * @param requests the request of an endpoint with a streamed response; an iterable of requests, which ends the
   * request stream; or undefined to send requests through {@link CallStream.send} and {@link CallStream.end}.
   * @throws {TypeError} for invalid names or options.
   */
  stream<Q = unknown, R = unknown>(
    service: string,
    endpoint: string,
    requests?: Q | Requests<Q>,
    options: CallOptions = DEFAULT,
  ): CallStream<Q, R> {
    const plan = this.#plan(service, endpoint, options, 0)
    const call = new StreamCall(this.#owner, plan, requests)
    call.begin()
    return new CallStream<Q, R>(call)
  }

  /**
   * The endpoints of a service as typed functions.
   *
   * `T` is the type of the service (`typeof service`), or of its handlers: `{ Helloworld: typeof endpoints }`. An
   * `import type` suffices, so no code is imported. Unary endpoints are functions; streaming ones have a method
   * `stream`.
   *
   * ```ts
   * const { Helloworld } = client.service<typeof helloworld>('helloworld')
   * await Helloworld.call({ name: 'John' })
   * for await (const { message } of Helloworld.stream.stream({ count: 3 })) console.log(message)
   * ```
   *
   * @param options options for all calls; options of a single call take precedence.
   */
  service<T>(name: string, options: CallOptions = DEFAULT): ServiceProxy<T> {
    return createServiceProxy<T>(this, name, options)
  }

  /**
   * Closes the client: it rejects new calls and ends its streams. Loops over events and watches end; reading from other
   * streams throws. Other calls in flight complete.
   */
  close(): void {
    beginNow(this)
    this.#closing.abort(new ClientClosedError())
    this.#targets.close()
  }

  #createTokens(
    token: string | undefined,
    credentials: ResolvedCredentials | undefined,
    platform: string | undefined,
  ) {
    if (token !== undefined) return createFixedToken(checkToken(token))
    if (credentials === undefined) return undefined
    // The login itself has no token. It always runs in the namespace of the account.
    const metadata = formatCallMetadata({ namespace: credentials.namespace }, '')
    const call = (request: object, address?: string): Promise<LoginReply> =>
      new Promise((resolve, reject) => {
        const options = address === undefined ? DEFAULT : { address }
        const plan = this.#plan('auth', 'Auth.Token', options, this.#timeoutMs)
        const targetOptions = { ...plan, metadata, tokens: undefined }
        const resolveReply = resolve as (reply: unknown) => void
        new UnaryCall(this.#owner, targetOptions, request, resolveReply, reject).begin()
      })
    return createAccountTokens({ credentials, platform, call })
  }

  #plan(service: string, endpoint: string, options: CallOptions, defaultMs: number): CallPlan {
    if (!isServiceName(service))
      throw new TypeError(
        `service must be letters, digits and inner dots, dashes or underscores, got ${show(service)}`,
      )
    if (!ENDPOINT.test(endpoint))
      throw new TypeError(`endpoint must be <Handler>.<Method>, got ${show(endpoint)}`)
    if (options !== DEFAULT) rejectUnknownOptions('call options', options, CALL_OPTIONS)
    const { context, timeoutMs, retries, address, signal, asText = false } = options
    const ownMs = timeoutMs === undefined ? defaultMs : toTimeout(timeoutMs)
    const metadata = formatCallMetadata(options, this.#namespace)
    const isSigned = context !== undefined || findMetadata(metadata, 'authorization') !== undefined
    const plan = {
      service,
      endpoint,
      metadata,
      timeoutMs: ownMs,
      retries: retries === undefined ? this.#retries : toRetries(retries),
      address,
      signal,
      contextSignal: context?.signal,
      tokens: isSigned ? undefined : this.#tokens,
      asText,
    }
    if (context === undefined) return plan
    const { msLeft } = context
    if (msLeft !== Number.POSITIVE_INFINITY)
      // Keeps an expired deadline above 0, which would mean no deadline, so that the call times out.
      plan.timeoutMs = Math.max(ownMs === 0 ? msLeft : Math.min(ownMs, msLeft), Number.MIN_VALUE)
    return plan
  }
}

/**
 * Credentials of a client; undefined if it has none or uses a token.
 *
 * @param platform platform that the environment's credentials are for.
 */
function resolveCredentials(
  { token, auth, address }: ClientOptions,
  platform: string | undefined,
): ResolvedCredentials | undefined {
  if (token !== undefined) {
    if (auth !== undefined) throw new TypeError('new Client: token and auth are mutually exclusive')
    return undefined
  }
  // The environment's credentials are for the platform, not for arbitrary addresses.
  if (auth === undefined && address !== undefined) return undefined
  return findCredentials(auth, platform)
}

/** RPC proxy of a registry; undefined for other kinds of registries. */
function toProxy(source: Registry | string | undefined): string | undefined {
  return typeof source === 'string' && /^\s*mxs?:/.test(source) ? source.trim() : undefined
}

/** The token may be secret, so errors do not quote it. */
function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new TypeError('new Client: token must be visible ASCII characters without blanks')
}

/** Timeout of a call in milliseconds, where 0 means no deadline. */
function toTimeout(timeoutMs: number): number {
  if (timeoutMs === Number.POSITIVE_INFINITY) return 0
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs
  throw new TypeError(`timeoutMs must be more than 0, got ${show(timeoutMs)}`)
}

function toRetries(retries: number): number {
  if (Number.isInteger(retries) && retries >= 0) return retries
  throw new TypeError(`retries must be a whole number of at least 0, got ${show(retries)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 253) ?? String(value)
}
