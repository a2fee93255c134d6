import type { ReadonlySignal } from '@preact/signals'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { parseJson } from '../json/json-source.ts'
import { namespace, readSession, renewSession, session } from '../state/session.ts'
import { CallError, type Fields, toBadAnswer } from './call-error.ts'
import { type Bytes, toBody } from './frames.ts'
import { type ConnectionState, Link } from './link.ts'
import type { SentCall } from './sent-call.ts'

export interface CallOptions {
  /** @default the chosen one */
  readonly namespace?: string
  /** 0: no deadline. @default 60000 for a call with one answer, none for a stream */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Metadata of the call; names in lower case. */
  readonly fields?: Readonly<Record<string, string>>
}

export interface Answer<T> {
  /** Parsed JSON, integers beyond 2^53 as texts; text where the service says it is, bytes for any other type. */
  readonly body: T
  /** Size of the body. */
  readonly bytes: number
  readonly fields: Fields
  readonly tookMs: number
}

/** A call that streams. Reading it to the end, or leaving the loop, ends it. */
export interface Stream<T> extends AsyncIterable<T> {
  /** Sends one more message, as soon as the other end takes it. @throws {CallError} when the call has ended. */
  readonly send: (message: object) => Promise<void>
  /** No more messages are sent. */
  readonly end: () => void
  readonly cancel: () => void
  /** Resolves when the call is on its way. */
  readonly sent: Promise<void>
  /** Settles once the service has begun to answer: services may do so with their first message alone. */
  readonly begun: Promise<void>
  /** Metadata of the answer, once it began. */
  readonly fields: () => Fields
  /** Size of the message that was read last. */
  readonly lastBytes: () => number
}

const TIMEOUT_MS = 60_000

const link = new Link({
  dial() {
    const { protocol, host } = location
    return new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/.mx/rpc`, 'mx.rpc.1')
  },
  onDenied: () => void readSession().catch(ignore),
})

/** Whether the page is connected. */
export const connection: ReadonlySignal<ConnectionState> = link.state

/** Changes with each new connection. */
export const connectionId: ReadonlySignal<number> = link.opened

/** Keeps a connection while somebody is logged in: a new one for every account. */
export function keepConnected(): void {
  let account: string | undefined
  session.subscribe((current) => {
    const next = current === null ? undefined : JSON.stringify(current.account)
    if (next === account) return
    account = next
    link.close()
    if (next !== undefined) link.open()
  })
  addEventListener('online', reconnect)
  addEventListener('focus', reconnect)
}

/** Tries at once to connect again, where the connection is lost, perhaps without a sign. */
export function reconnect(): void {
  link.hurry()
}

/**
 * Calls an endpoint that has one answer.
 *
 * @param request sent as JSON; undefined: a message without fields.
 * @throws {CallError} what the service said, 408 when it took too long, 503 when there is no connection.
 */
export async function call<T>(
  service: string,
  endpoint: string,
  request?: object,
  options: CallOptions = {},
): Promise<Answer<T>> {
  const startedMs = performance.now()
  const sent = await begin(service, endpoint, request, options, false)
  const body = (await takeBody(sent)) ?? toBody(undefined)
  return {
    body: parseBody<T>(body, sent),
    bytes: body.length,
    fields: sent.fields,
    tookMs: performance.now() - startedMs,
  }
}

/**
 * Calls an endpoint that streams, in either direction or both.
 *
 * @param request the first message; undefined: there is none yet, they are sent. Where it is there, none but it is sent unless `sends` is true.
 */
export function openStream<T>(
  service: string,
  endpoint: string,
  request: object | undefined,
  options: CallOptions & { readonly sends?: boolean } = {},
): Stream<T> {
  const { sends = request === undefined } = options
  const started = begin(service, endpoint, request, options, true, sends)
  let began: SentCall | undefined
  const sent = started.then((call) => {
    began = call
  })
  // Who reads or sends gets it, too.
  sent.catch(ignore)
  const begun = started.then((call) => call.begun())
  begun.catch(ignore)
  let cancelled = false
  let lastBytes = 0
  const cancel = (): void => {
    cancelled = true
    void started.then((call) => call.cancel(toCancelled(service)), ignore)
  }
  return {
    async *[Symbol.asyncIterator]() {
      try {
        const call = await started
        for (;;) {
          const body = await takeBody(call)
          if (body === undefined) return
          lastBytes = body.length
          yield parseBody<T>(body, call)
        }
      } catch (error) {
        if (!cancelled) throw error
      } finally {
        cancel()
      }
    },
    async send(message) {
      await (await started).send(toBody(message))
    },
    end: () => void started.then((call) => call.end(), ignore),
    cancel,
    sent,
    begun,
    fields: () => began?.fields ?? [],
    lastBytes: () => lastBytes,
  }
}

async function begin(
  service: string,
  endpoint: string,
  request: object | undefined,
  { namespace: wanted = namespace.value, timeoutMs, signal, fields = {} }: CallOptions,
  streams: boolean,
  sends = false,
): Promise<SentCall> {
  if (signal?.aborted) throw toCancelled(service)
  const metadata = toMetadata(
    { ...fields, ...(wanted !== '' && { 'mx-namespace': wanted }) },
    service,
  )
  const sent = await link.call(
    {
      service,
      endpoint,
      metadata,
      timeoutMs: timeoutMs ?? (streams ? 0 : TIMEOUT_MS),
      body: request === undefined && !sends ? toBody({}) : toBody(request),
      streams,
      sends,
    },
    signal,
  )
  const stop = (): void => sent.cancel(toCancelled(service))
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  return sent
}

/** The next body. An error that may mean the login has ended makes the page ask. */
async function takeBody(sent: SentCall): Promise<Bytes | undefined> {
  try {
    return await sent.next()
  } catch (error) {
    if (error instanceof CallError && error.isExpiry) renewOnce()
    throw error
  }
}

let renewing = false

/** Many calls fail together. */
function renewOnce(): void {
  if (renewing || session.peek() === null) return
  renewing = true
  renewSession()
    .catch(ignore)
    .finally(() => {
      renewing = false
    })
}

function parseBody<T>(body: Bytes, { fields, service }: SentCall): T {
  const type = fields.find(([name]) => name === 'content-type')?.[1].toLowerCase() ?? ''
  if (type === '' || /^application\/(?:[^;]*\+)?json\b/.test(type)) {
    try {
      return (body.length === 0 ? {} : parseJson(new TextDecoder().decode(body))) as T
    } catch (error) {
      throw error instanceof RangeError ? toLongAnswer(service, error) : toBadAnswer(service, error)
    }
  }
  return (type.startsWith('text/') ? new TextDecoder().decode(body) : body) as T
}

/** JSON, which other callers can take. */
function toLongAnswer(service: string, cause: RangeError): CallError {
  const detail = `the answer of ${service} is ${cause.message}: too deep for this page, not for mx and curl`
  return new CallError(service, 502, detail, { cause })
}

function toMetadata(fields: Readonly<Record<string, string>>, service: string): string {
  try {
    return formatMetadata(Object.entries(fields).flat())
  } catch (error) {
    throw toBadMetadata(service, error as Error)
  }
}

function toBadMetadata(service: string, cause: Error): CallError {
  return new CallError(service, 400, cause.message, { cause })
}

function toCancelled(service: string): CallError {
  return new CallError(service, 499, 'cancelled')
}

function ignore(): void {}
