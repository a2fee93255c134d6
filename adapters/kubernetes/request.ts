import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { withTimeout } from '../../lib/async/timeout.ts'
import type { Cluster } from './cluster.ts'

/** An answer of the API server that is no use. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status, or that of the event that ended a watch. */
  readonly status: number
  /** Milliseconds the server asks to be left alone. */
  readonly retryAfterMs: number

  constructor(message: string, { status, retryAfterMs = 0, cause }: ApiErrorOptions) {
    super(message, { cause })
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

interface ApiErrorOptions {
  readonly status: number
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** Milliseconds a command that prints credentials may take. */
const CREDENTIALS_MS = 15_000
/** Longest reply to a refused request that is read. */
const MAX_STATUS_BYTES = 65_536
const MAX_SHOWN = 300
const MAX_RETRY_AFTER_SECONDS = 60

/** What is asked for. */
export interface ApiRequest {
  /** @default GET */
  readonly method?: 'GET' | 'PATCH' | 'DELETE'
  /** From the server's root, with the query. */
  readonly path: string
  /** Media type of the response. @default application/json */
  readonly accept?: string
  /** Sent as JSON. */
  readonly body?: object
  /** Media type of the body. @default application/json */
  readonly type?: string
}

/**
 * Sends a request and waits for the head of the answer.
 *
 * @throws {ApiError} for any answer but 200 to 202. @throws {Error} when there is none.
 */
export async function send(
  { server, readOptions }: Cluster,
  { method = 'GET', path, body, ...types }: ApiRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { type = 'application/json', accept = 'application/json' } = types
  const { headers, ...options }: RequestOptions = await withTimeout(readOptions(), CREDENTIALS_MS)
  signal.throwIfAborted()
  const open = server.protocol === 'http:' ? requestHttp : requestHttps
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const url = new URL(server.pathname.replace(/\/$/, '') + path, server)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = open(url, {
      ...options,
      method,
      headers: {
        ...(headers as object),
        accept,
        'user-agent': 'mx',
        ...(bytes && { 'content-type': type, 'content-length': bytes.length }),
      },
      signal,
    })
    request.on('socket', (socket) => socket.setKeepAlive(true, 30_000))
    request.on('response', resolve).on('error', reject).end(bytes)
  })
  const status = response.statusCode ?? 0
  if (status >= 200 && status <= 202) return response
  const retryAfter = Number(response.headers['retry-after'])
  throw new ApiError(`${status} ${toReason(await readText(response, MAX_STATUS_BYTES))}`.trim(), {
    status,
    retryAfterMs: retryAfter > 0 ? Math.min(retryAfter, MAX_RETRY_AFTER_SECONDS) * 1000 : 0,
  })
}

/** Sends a GET, as `send`. */
export function get(cluster: Cluster, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return send(cluster, { path }, signal)
}

/** The whole answer. @throws {ApiError} when it is longer than `maxBytes`. */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes)
      throw new ApiError(`the answer is longer than ${maxBytes} bytes`, { status: 200 })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * The whole lines of the answer, those that came together at a time.
 *
 * @throws {ApiError} when a line is longer than `maxBytes`.
 */
export async function* readLines(
  response: IncomingMessage,
  maxBytes: number,
): AsyncGenerator<readonly string[]> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const end = chunk.lastIndexOf(10)
    if (end >= 0) {
      parts.push(chunk.subarray(0, end))
      const lines = Buffer.concat(parts).toString().split('\n')
      parts = []
      size = 0
      yield lines.filter((line) => line.trim() !== '')
    }
    const rest = chunk.subarray(end + 1)
    parts.push(rest)
    size += rest.length
    if (size > maxBytes)
      throw new ApiError(`an event is longer than ${maxBytes} bytes`, { status: 200 })
  }
}

/** The message of a Status object (metav1.Status), else the text as it is. */
function toReason(text: string): string {
  try {
    const message: unknown = JSON.parse(text)?.message
    if (typeof message === 'string') return message.slice(0, MAX_SHOWN)
  } catch {
    // Not of the API server itself: a proxy in front of it writes what it likes.
  }
  return text.slice(0, MAX_SHOWN).replace(/\s+/g, ' ')
}
