import type { ReadonlySignal } from '@preact/signals'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { parseJson } from '../json/json-source.ts'
import { namespace, readSession, renewSession, session } from '../state/session.ts'
import { CallError, type Fields, toBadResponse } from './call-error.ts'
import { type Bytes, toBody } from './frames.ts'
import { type ConnectionState, Link } from './link.ts'
import type { SentCall } from './sent-call.ts'

export interface CallOptions {
  /** @default the selected namespace */
  readonly namespace?: string
  /** 0: no deadline. @default 60000 for a unary call, none for a stream */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Metadata of the call; names in lower case. */
  readonly fields?: Readonly<Record<string, string>>
}

export interface Answer<T> {
  /** Parsed JSON, with integers beyond 2^53 as strings; text for a text content type, bytes for any other. */
  readonly body: T
  /** Size of the body. */
  readonly bytes: number
  readonly fields: Fields
  readonly tookMs: number
}

/** A streaming call. Ends when all messages are read or the loop is left. */
export interface Stream<T> extends AsyncIterable<T> {
  /** Sends a message when there is credit for it. @throws {CallError} when the call has ended. */
  readonly send: (message: object) => Promise<void>
  /** Ends the request stream. */
  readonly end: () => void
  readonly cancel: () => void
  /** Resolves when the call was sent. */
  readonly sent: Promise<void>
  /** Settles when the response has started, for some services with the first message. */
  readonly begun: Promise<void>
  /** Metadata of the response, available after its start. */
  readonly fields: () => Fields
  /** Size of the last message read. */
  readonly lastBytes: () => number
}

const TIMEOUT_MS = 60_000

const link = new Link({
  dial() {
    const { protocol, host } = location
    return new WebSocket(`${protocol === 'https:' ? 'wss' : 'ws'}://${host}/.mx/rpc`, 'mx.rpc.1')
  },
  onConnectFailed: () => void readSession().catch(ignore),
})

/** Whether the page is connected. */
export const connection: ReadonlySignal<ConnectionState> = link.state

/** Changes with each new connection. */
export const connectionId: ReadonlySignal<number> = link.opened

/** Stays connected while logged in, with a new connection for each account. */
export function stayConnected(): void {
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

/** Reconnects immediately if the connection is lost, and checks an open one. */
export function reconnect(): void {
  link.reconnect()
}

/**
 * Calls a unary endpoint.
 *
 * @param request sent as JSON; undefined: a message without fields.
 * @throws {CallError} the error of the service, 408 after the deadline, 503 without a connection.
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
 * Calls a streaming endpoint.
 *
 * @param request the first message, by default the only one unless `sends` is true; undefined: messages are sent later.
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
  // The error is also reported to reads and sends.
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

/** Reads the next body. Checks the session on an error that may indicate the end of the login. */
async function takeBody(sent: SentCall): Promise<Bytes | undefined> {
  try {
    return await sent.next()
  } catch (error) {
    if (error instanceof CallError && error.isExpiry) renewOnce()
    throw error
  }
}

let renewing = false

/** Coalesced: many calls fail at the same time. */
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
      throw error instanceof RangeError
        ? toDeepResponse(service, error)
        : toBadResponse(service, error)
    }
  }
  return (type.startsWith('text/') ? new TextDecoder().decode(body) : body) as T
}

/** Error of a response that is valid for other clients. */
function toDeepResponse(service: string, cause: RangeError): CallError {
  const detail = `the response of ${service} is ${cause.message}: too deep for this page, use mx or curl`
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
