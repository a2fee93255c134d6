import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../process/log.ts'
import type { Address } from '../settings/parse/address.ts'
import type { Readiness } from './readiness.ts'

/** Response body and media type. */
export interface AdminSource {
  readonly type: string
  readonly text: string
}

export interface AdminOptions {
  readonly address: Address
  /** Returns whether a `Host` header is allowed. */
  readonly isHost: (host: string) => boolean
  readonly readiness: Pick<Readiness, 'problems'>
  /** Returns the metrics of the process in the format selected by the `Accept` header. */
  readonly scrape: (accept: string) => Promise<AdminSource>
  /** Handles {@link CONFIG_PATH} and the paths below it. If undefined, they are not served. */
  readonly config?: AdminHandler | undefined
  /** Handles {@link NODES_PATH} and the paths below it. If undefined, they are not served. */
  readonly nodes?: AdminHandler | undefined
  /** Handles the paths below {@link CACHE_PATH}. If undefined, they are not served. */
  readonly cache?: AdminHandler | undefined
  readonly log: Log
}

/** A running admin server. */
export interface Admin {
  readonly port: number
  readonly close: () => Promise<void>
}

export interface AdminResponse extends AdminSource {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

export type AdminHandler = (request: IncomingMessage, path: string) => Promise<AdminResponse>

export const CONFIG_PATH = '/config'
export const NODES_PATH = '/nodes'
export const CACHE_PATH = '/cache'
const TEXT = 'text/plain; charset=utf-8'
/** Requests consist only of a request line and a few headers. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 2000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
}
const MAX_CONNECTIONS = 64
/** Timeout for clients that do not read the response. */
const IDLE_TIMEOUT_MS = 65_000
const METHODS = 'GET, HEAD'

/**
 * Starts the admin server with `/livez` (the process is running), `/readyz` (the process accepts
 * requests; otherwise 503 with one reason per line), `/metrics`, `/nodes`, `/cache` and `/config`.
 *
 * @throws {Error} with the system error if the port cannot be opened.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { address, isHost, readiness, scrape, config, nodes, cache, log } = options

  const paths: Readonly<
    Record<string, (request: IncomingMessage) => Promise<AdminResponse> | AdminResponse>
  > = {
    '/livez': () => toResponse(200, 'alive'),
    '/readyz': async () => {
      const problems = await readiness.problems()
      return problems.length === 0 ? toResponse(200, 'ready') : toResponse(503, problems.join('\n'))
    },
    '/metrics': async ({ headers }) => ({ status: 200, ...(await scrape(headers.accept ?? '')) }),
  }

  const route = (request: IncomingMessage): Promise<AdminResponse> | AdminResponse => {
    const { method, url = '', headers } = request
    if (!isHost(headers.host ?? ''))
      return toResponse(403, 'this host is not allowed; add it to --hosts')
    const [path = ''] = url.split('?', 1)
    const isBelow = (prefix: string): boolean => `${path}/`.startsWith(`${prefix}/`)
    if (config !== undefined && isBelow(CONFIG_PATH)) return config(request, path)
    if (nodes !== undefined && isBelow(NODES_PATH)) return nodes(request, path)
    if (cache !== undefined && isBelow(CACHE_PATH)) return cache(request, path)
    const serve = Object.hasOwn(paths, path) ? paths[path] : undefined
    if (serve === undefined)
      return toResponse(
        404,
        `not found; available paths: ${[...Object.keys(paths), NODES_PATH].join(', ')}`,
      )
    if (method !== 'GET' && method !== 'HEAD')
      return toResponse(405, `method not allowed; expected ${METHODS}`)
    return serve(request)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let result: AdminResponse
    try {
      result = await route(request)
    } catch (error) {
      log.error({ err: error }, 'admin request failed; sent 500')
      result = toResponse(500, 'internal error; see the log')
    }
    send(response, result, request.method === 'HEAD')
  }

  const server = createServer(LIMITS, (request, response) => void serve(request, response))
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(IDLE_TIMEOUT_MS)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, exclusive: true }, resolve)
  })
  server.on('error', (error) => log.error({ err: error }, 'admin server failed'))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function toResponse(status: number, text: string): AdminResponse {
  return { status, type: TEXT, text: `${text}\n` }
}

function send(
  response: ServerResponse,
  { status, type, text, headers }: AdminResponse,
  isHead: boolean,
): void {
  const body = Buffer.from(text)
  response.writeHead(status, {
    'content-type': type,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // Otherwise, a client could keep an idle connection open forever by sending empty lines.
    connection: 'close',
    ...(status === 405 && { allow: METHODS }),
    ...headers,
  })
  response.end(isHead ? undefined : body)
}
