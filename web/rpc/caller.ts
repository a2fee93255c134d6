import type { ReadonlySignal } from '@preact/signals'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { parseJson } from '../json/json-source.ts'
import { namespace, readSession, renewSession, session } from '../state/session.ts'
import { CallError, type Fields, toBadResponse } from './call-error.ts'
import { type Bytes, toBody } from './frames.ts'
import { type ConnectionState, Link } from './link.ts'
import type { SentCall } from './sent-call.ts'

export interface CallOptions {
  /** Namespace of the call. @default the selected namespace */
  readonly namespace?: string
  /** Deadline in milliseconds; 0 for none. @default 60000 for a unary call, none for a stream */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /** Metadata of the call, with names in lower case. */
  readonly fields?: Readonly<Record<string, string>>
}

export interface CallResponse<T> {
  /** Body: parsed JSON with integers beyond 2^53 as strings, text for a text content type, or bytes for any other. */
  readonly body: T
  /** Size of the body in bytes. */
  readonly bytes: number
  readonly fields: Fields
  readonly tookMs: number
}

/** A streaming call. Ends when all messages have been read or the loop is left. */
export interface Stream<T> extends AsyncIterable<T> {
  /** Sends a message as soon as there is credit. @throws {CallError} if the call has ended. */
  readonly send: (message: object) => Promise<void>
  /** Ends the request stream. */
  readonly end: () => void
  readonly cancel: () => void
  /** Resolves when the call has been sent. */
  readonly sent: Promise<void>
  /** Settles when the response has started, which for some services is with the first message. */
  readonly begun: Promise<void>
  /** Metadata of the response, available once it has started. */
  readonly fields: () => Fields
  /** Size of the last message read, in bytes. */
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

/** Connection state of the page. */
export const connection: ReadonlySignal<ConnectionState> = link.state

/** Changes with each new connection. */
export const connectionId: ReadonlySignal<number> = link.opened

/** Connects while logged in, with a new connection for each account. */
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

/** Reconnects immediately if the connection is lost; otherwise checks it. */
export function reconnect(): void {
  link.reconnect()
}

/**
 * Calls a unary endpoint.
 *
 * @param request request, sent as JSON; undefined for a message without fields.
 * @throws {CallError} the error of the service, 408 after the deadline, 503 without a connection.
 */
export async function call<T>(
  service: string,
  endpoint: string,
  request?: object,
  options: CallOptions = {},
): Promise<CallResponse<T>> {
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
 * @param request first message, which is the only one unless `sends` is true; undefined to send messages later.
 */
export function openStream<T>(
  service: string,
  endpoint: string,
  request: object | undefined,
  options: CallOptions & { readonly sends?: boolean } = {},
): Stream<T> {
  const { sends = request === undefined } = options
  const started = begin(service, endpoint, request, options, true, sends)
  let startedCall: SentCall | undefined
  const sent = started.then((call) => {
    startedCall = call
  })
  // The error is also reported by reads and sends.
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
    fields: () => startedCall?.fields ?? [],
    lastBytes: () => lastBytes,
  }
}

async function begin(
  service: string,
  endpoint: string,
  request: object | undefined,
  { namespace: callNamespace = namespace.value, timeoutMs, signal, fields = {} }: CallOptions,
  streams: boolean,
  sends = false,
): Promise<SentCall> {
  if (signal?.aborted) throw toCancelled(service)
  const metadata = toMetadata(
    { ...fields, ...(callNamespace !== '' && { 'mx-namespace': callNamespace }) },
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

/** Reads the next body. Checks the session on errors that may indicate that the login has ended. */
async function takeBody(sent: SentCall): Promise<Bytes | undefined> {
  try {
    return await sent.next()
  } catch (error) {
    if (error instanceof CallError && error.isExpiry) renewOnce()
    throw error
  }
}

let renewing = false

/** Coalesces renewals, because many calls fail at the same time. */
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

/** Error for a response that is valid for other clients. */
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
