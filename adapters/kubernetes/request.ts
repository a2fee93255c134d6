import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { withTimeout } from '../../lib/async/timeout.ts'
import type { Cluster } from './cluster.ts'

/** An error response or an unusable response from the API server. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status of the response, or status of the event that ended a watch. */
  readonly status: number
  /** `Retry-After` in milliseconds. */
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

/** Timeout of a command that prints credentials. */
const CREDENTIALS_MS = 15_000
/** Maximum size of an error response. */
const MAX_STATUS_BYTES = 65_536
const MAX_EXCERPT = 300
const MAX_RETRY_AFTER_SECONDS = 60

export interface ApiRequest {
  /** @default GET */
  readonly method?: 'GET' | 'PATCH' | 'DELETE'
  /** Path from the server root, including the query. */
  readonly path: string
  /** Media type of the response. @default application/json */
  readonly accept?: string
  /** Sent as JSON. */
  readonly body?: object
  /** Media type of the body. @default application/json */
  readonly type?: string
}

/**
 * Sends a request and waits for the response headers.
 *
 * @throws {ApiError} for any status except 200 to 202.
 * @throws {Error} if there is no response.
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

/** Sends a GET request. */
export function get(cluster: Cluster, path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return send(cluster, { path }, signal)
}

/** Reads the response. @throws {ApiError} if it exceeds `maxBytes`. */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes)
      throw new ApiError(`the response exceeds the limit of ${maxBytes} bytes`, { status: 200 })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * Reads complete lines of the response, batched as received.
 *
 * @throws {ApiError} if a line exceeds `maxBytes`.
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
      throw new ApiError(`an event exceeds the limit of ${maxBytes} bytes`, { status: 200 })
  }
}

/** Returns the message of a Status object (metav1.Status), otherwise the text itself. */
function toReason(text: string): string {
  try {
    const message: unknown = JSON.parse(text)?.message
    if (typeof message === 'string') return message.slice(0, MAX_EXCERPT)
  } catch {
    // Not JSON, for example from a proxy in front of the API server.
  }
  return text.slice(0, MAX_EXCERPT).replace(/\s+/g, ' ')
}
