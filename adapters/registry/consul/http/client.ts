import type { EventEmitter } from 'node:events'
import type { Agent, IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type Consul from 'consul'
import { toBackOffMs } from '../../../../lib/async/backoff.ts'
import { explainTls } from '../../../../lib/net/tls-error-hint.ts'
import { AnswerSink } from './bounded-response.ts'
import { createConsulError, isConsulError, toAnswerError } from './errors.ts'
import { type ConsulAddress, createAgent } from './http-agent.ts'

export interface ClientOptions extends ConsulAddress {
  /** Most connections for questions that wait at Consul. */
  readonly maxWaiting: number
  /** Most connections for all other calls, kept; further ones queue. @default 16 */
  readonly maxCalls?: number
  /** Longest answer read, bytes. */
  readonly maxAnswerBytes: number
}

/** An answer, not yet parsed. */
export interface Answer {
  /** `X-Consul-Index` as it came; empty: none did. */
  readonly index: string
  /** Whether ACLs left something out (`X-Consul-Results-Filtered-By-ACLs`; Consul 1.11 and later). */
  readonly filtered: boolean
  /** {@link ConsulClient.era} when it came. */
  readonly era: number
  readonly chunks: readonly Buffer[]
  /** Read to the end: nobody looks at the chunks any more, whose memory the next answers may have. */
  readonly release: () => void
}

export interface QueryOptions {
  /** Permissions the call takes, for the message when it is refused. */
  readonly needs: string
  /** @default 5000 */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Whether it waits at Consul, on a connection of those for that. @default false */
  readonly waits?: boolean
  /** Fields of the request's JSON the library leaves out. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** What every call of the library is given besides its own options. */
export interface CallOptions {
  readonly ctx: EventEmitter
  /** Milliseconds. */
  readonly timeout: number
  /** What the library's own types know; from the client's options. */
  readonly token?: string
}

type Call = (consul: Consul, options: CallOptions) => Promise<unknown>

export interface ConsulClient {
  /** `host:port` that is asked. */
  readonly where: string
  /** @throws {ConsulError} when Consul does not answer, refuses, or fails. */
  readonly ask: (call: Call, options: QueryOptions) => Promise<Answer>
  /** Rises when a connection is lost: who answers from then on may be another Consul, whose indexes are others. */
  readonly era: () => number
  /** Ends the connections and what is under way on them. */
  readonly close: () => void
}

/** The whole of an answer. */
export function joinChunks(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

/** The library's hook before a request is made of its options. */
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

/** What the library knows of an attempt: its sink, which cancels it, too. */
class Attempt extends AnswerSink {
  readonly extra: QueryOptions['extra']

  constructor(maxBytes: number, extra: QueryOptions['extra']) {
    super(maxBytes)
    this.extra = extra
  }
}

const TIMEOUT_MS = 5000
const AUTHORITIES = '?ca= or CONSUL_CACERT'
/** A kept connection the agent closed in this moment: nothing was done, or what is done twice makes no difference. */
const STALE = new Set(['ECONNRESET', 'EPIPE'])
/** How often a call is tried whose connection was one too many, or closed in this moment, and the pause before the third time. */
const MAX_TRIES = 6
const RETRY = { minMs: 40, maxMs: 1000 }

/**
 * The calls of Consul's HTTP API, by the library `consul`, which is loaded with the first of them.
 *
 * @throws {Error} when a file of the TLS options cannot be read.
 */
export function createConsulClient({
  maxWaiting,
  maxCalls = 16,
  maxAnswerBytes,
  ...address
}: ClientOptions): ConsulClient {
  const { host = '127.0.0.1', secure = false, token, datacenter } = address
  const { port = secure ? 8501 : 8500 } = address
  const where = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  let era = 0
  const agents = {
    waits: createAgent(address, maxWaiting, () => era++),
    calls: createAgent(address, maxCalls, () => era++),
  }
  let closed = false
  const libraries: Partial<Record<keyof typeof agents, Promise<Consul>>> = {}

  async function load(agent: Agent): Promise<Consul> {
    const { default: Consul } = await import('consul').catch((cause: unknown) => {
      throw new Error('the registry consul takes the library consul: npm install consul@2', {
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
    { needs, timeoutMs, signal, extra, waits = false }: QueryOptions,
  ): Promise<Answer> {
    const kind = waits ? 'waits' : 'calls'
    libraries[kind] ??= load(agents[kind])
    const library = await libraries[kind]
    const ctx = new Attempt(maxAnswerBytes, extra)
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
        throw toAnswerError(status, hide(joinChunks(ctx.chunks).toString()), where, needs)
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

  function hide(text: string): string {
    return token === undefined || token === '' ? text : text.replaceAll(token, '[token]')
  }

  return {
    where,

    async ask(call, options) {
      // One that waits is told at once: it may ask without.
      const tries = options.waits === true ? 2 : MAX_TRIES
      for (let i = 1; ; i++) {
        try {
          return await attempt(call, options)
        } catch (error) {
          options.signal?.throwIfAborted()
          const { code = '', message, isPapi } = error as NodeJS.ErrnoException & { isPapi?: true }
          const crowded = isConsulError(error) ? error.crowded : STALE.has(code)
          if (crowded && i < tries && !closed) {
            if (i > 1) await delay(toBackOffMs(i - 1, RETRY))
            continue
          }
          if (isConsulError(error)) throw error
          // Not the error itself: it may lead to the request, and so to the token.
          const reason =
            code === '' || !message.includes(code) ? `${message} ${code}`.trim() : message
          if (code === '' && isPapi === undefined) throw error
          const told = secure ? explainTls(hide(reason), 'consul://', AUTHORITIES) : hide(reason)
          throw createConsulError(`Consul at ${where} does not answer: ${told}`, { crowded })
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
