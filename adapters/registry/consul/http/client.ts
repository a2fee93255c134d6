import type { EventEmitter } from 'node:events'
import type { Agent, IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type Consul from 'consul'
import { toBackOffMs } from '../../../../lib/async/backoff.ts'
import { explainTls } from '../../../../lib/net/tls-error-hint.ts'
import { ResponseSink } from './bounded-response.ts'
import { createConsulError, isConsulError, toResponseError } from './errors.ts'
import { type ConsulAddress, createAgent } from './http-agent.ts'

export interface ClientOptions extends ConsulAddress {
  /** Maximum number of connections for blocking queries. */
  readonly maxWaiting: number
  /** Maximum number of connections for other calls; further calls are queued. @default 16 */
  readonly maxCalls?: number
  /** Maximum size of a response in bytes. */
  readonly maxResponseBytes: number
}

/** Unparsed response. */
export interface ConsulResponse {
  /** Value of `X-Consul-Index`; empty if absent. */
  readonly index: string
  /** Whether ACLs removed results (`X-Consul-Results-Filtered-By-ACLs`; Consul 1.11 and later). */
  readonly filtered: boolean
  /** {@link ConsulClient.era} when the response was received. */
  readonly era: number
  readonly chunks: readonly Buffer[]
  /** Returns the memory of the chunks to the pool. They must not be used afterwards. */
  readonly release: () => void
}

export interface QueryOptions {
  /** Required permissions, included in the error message of a denial. */
  readonly needs: string
  /** @default 5000 */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Whether this is a blocking query, which uses separate connections. @default false */
  readonly blocking?: boolean
  /** JSON fields that the library does not support. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** Options that are added to every library call. */
export interface CallOptions {
  readonly ctx: EventEmitter
  /** Milliseconds. */
  readonly timeout: number
  /** Required by the library's types; set from the client's options. */
  readonly token?: string
}

type Call = (consul: Consul, options: CallOptions) => Promise<unknown>

export interface ConsulClient {
  /** `host:port` of the agent. */
  readonly authority: string
  /** @throws {ConsulError} if Consul is unreachable, denies the request or fails. */
  readonly request: (call: Call, options: QueryOptions) => Promise<ConsulResponse>
  /**
   * Incremented when a connection is lost, because the next response may come from another Consul
   * server with different indexes.
   */
  readonly era: () => number
  /** Closes the connections and aborts the calls in flight. */
  readonly close: () => void
}

export function joinChunks(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

/** Library hook that runs before a request is sent. */
interface Hooked {
  readonly _ext: (
    name: 'onCreate',
    hook: (request: HookedRequest, next: () => void) => void,
  ) => void
}

interface HookedRequest {
  readonly opts: { pipe?: unknown; body?: Record<string, unknown> }
  readonly ctx: Attempt
}

/** Library context of an attempt: the response sink, which can also cancel the request. */
class Attempt extends ResponseSink {
  readonly extra: QueryOptions['extra']

  constructor(maxBytes: number, extra: QueryOptions['extra']) {
    super(maxBytes)
    this.extra = extra
  }
}

const TIMEOUT_MS = 5000
const AUTHORITIES = '?ca= or CONSUL_CACERT'
/**
 * The agent closed an idle connection when the call was sent. The call had no effect or is
 * idempotent.
 */
const STALE = new Set(['ECONNRESET', 'EPIPE'])
/**
 * Maximum number of attempts of a call after a stale or rejected connection, and base of the pauses
 * from the third attempt on.
 */
const MAX_TRIES = 6
const RETRY = { minMs: 40, maxMs: 1000 }

/**
 * Client for Consul's HTTP API, based on the `consul` library, which is loaded on the first call.
 *
 * @throws {Error} if a TLS file cannot be read.
 */
export function createConsulClient({
  maxWaiting,
  maxCalls = 16,
  maxResponseBytes,
  ...address
}: ClientOptions): ConsulClient {
  const { host = '127.0.0.1', secure = false, token, datacenter } = address
  const { port = secure ? 8501 : 8500 } = address
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  let era = 0
  const agents = {
    blocking: createAgent(address, maxWaiting, () => era++),
    calls: createAgent(address, maxCalls, () => era++),
  }
  let closed = false
  const libraries: Partial<Record<keyof typeof agents, Promise<Consul>>> = {}

  async function load(agent: Agent): Promise<Consul> {
    const { default: Consul } = await import('consul').catch((cause: unknown) => {
      throw new Error('the registry consul requires the library consul: npm install consul@2', {
        cause,
      })
    })
    const consul = new Consul({
      host: isIPv6(host) ? `[${host}]` : host,
      port,
      secure,
      agent,
      defaults: {
        ...(token !== undefined && { token }),
        ...(datacenter !== undefined && { dc: datacenter }),
      },
    })
    const hooked = consul as unknown as Hooked
    hooked._ext('onCreate', ({ opts, ctx }, next) => {
      opts.pipe = ctx
      if (opts.body !== undefined) Object.assign(opts.body, ctx.extra)
      next()
    })
    return consul
  }

  async function attempt(
    call: Call,
    { needs, timeoutMs, signal, extra, blocking = false }: QueryOptions,
  ): Promise<ConsulResponse> {
    const kind = blocking ? 'blocking' : 'calls'
    libraries[kind] ??= load(agents[kind])
    const library = await libraries[kind]
    const ctx = new Attempt(maxResponseBytes, extra)
    const abort = (): boolean => ctx.emit('cancel')
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort)
    try {
      await call(library, { ctx, timeout: timeoutMs ?? TIMEOUT_MS })
    } catch (error) {
      signal?.throwIfAborted()
      if (closed) throw createConsulError('the registry is closed')
      if (ctx.problem !== undefined) throw createConsulError(ctx.problem)
      const status = (error as { response?: IncomingMessage }).response?.statusCode
      if (status !== undefined)
        throw toResponseError(
          status,
          redactToken(joinChunks(ctx.chunks).toString()),
          authority,
          needs,
        )
      era++
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
    const { headers, chunks } = ctx
    const index = headers['x-consul-index']
    return {
      index: typeof index === 'string' ? index : '',
      filtered: headers['x-consul-results-filtered-by-acls'] === 'true',
      era,
      chunks,
      release: () => ctx.release(),
    }
  }

  function redactToken(text: string): string {
    return token === undefined || token === '' ? text : text.replaceAll(token, '[token]')
  }

  return {
    authority,

    async request(call, options) {
      // A rejected blocking query is reported early, because its caller can poll instead.
      const tries = options.blocking === true ? 2 : MAX_TRIES
      for (let i = 1; ; i++) {
        try {
          return await attempt(call, options)
        } catch (error) {
          options.signal?.throwIfAborted()
          const { code = '', message, isPapi } = error as NodeJS.ErrnoException & { isPapi?: true }
          const overLimit = isConsulError(error) ? error.overLimit : STALE.has(code)
          if (overLimit && i < tries && !closed) {
            if (i > 1) await delay(toBackOffMs(i - 1, RETRY))
            continue
          }
          if (isConsulError(error)) throw error
          // Only the message is used: the error references the request and therefore the token.
          const reason =
            code === '' || !message.includes(code) ? `${message} ${code}`.trim() : message
          if (code === '' && isPapi === undefined) throw error
          const explained = secure
            ? explainTls(redactToken(reason), 'consul://', AUTHORITIES)
            : redactToken(reason)
          throw createConsulError(`Consul at ${authority} is unreachable: ${explained}`, {
            overLimit,
          })
        }
      }
    },

    era: () => era,

    close() {
      closed = true
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}
