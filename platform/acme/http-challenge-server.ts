import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDnsName, toHostName } from '../../core/http/host/host-name.ts'
import { toListenError } from '../../core/listener/errors.ts'
import type { Log } from '../process/log.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'

export interface HttpChallengeServerOptions {
  readonly address: Address
  /**
   * Returns the key authorization of a challenge token (RFC 8555 §8.3), or undefined if the token
   * is unknown. May reject.
   */
  readonly findToken: (token: string) => Promise<string | undefined>
  /**
   * Returns whether a certificate for the host exists or can currently be issued. Never rejects.
   */
  readonly hasHost: (host: string) => Promise<boolean>
  /** HTTPS port of the gateway; 0 means 443. */
  readonly httpsPort: number
  readonly log: Log
  /** Milliseconds until a failed attempt to listen is retried. @default 60000 */
  readonly retryMs?: number
}

/** Plain HTTP server that responds to ACME challenges and redirects to HTTPS. */
export interface HttpChallengeServer {
  /** 0 while the server is not listening. */
  readonly port: number
  readonly close: () => Promise<void>
}

const CHALLENGES = '/.well-known/acme-challenge/'
/** RFC 8555 §8.1: base64url, at least 128 bits. */
const TOKEN = /^[A-Za-z0-9_-]{20,256}$/
/**
 * Request targets that are copied into `Location` unchanged: characters of RFC 3986 §3.3 and §3.4,
 * and further characters that browsers send.
 */
const TARGET = /^\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]*$/
/** Maximum number of concurrent token lookups, because the store may be remote. */
const LOOKUPS_MAX = 64
const CONNECTIONS_MAX = 1000
const HEADER_MAX_BYTES = 8 * 1024
const HEADER_TIMEOUT_MS = 5000

/**
 * Starts the server. If listening fails, the error is logged and the attempt retried; existing
 * certificates are still served.
 */
export async function openHttpChallengeServer(
  options: HttpChallengeServerOptions,
): Promise<HttpChallengeServer> {
  const { address, findToken, hasHost, httpsPort, log, retryMs = 60_000 } = options
  const { host, port } = address
  let lookups = 0
  let lastError = ''
  let lastAcceptError = ''
  let timer: NodeJS.Timeout | undefined

  const server = createServer({
    maxHeaderSize: HEADER_MAX_BYTES,
    headersTimeout: HEADER_TIMEOUT_MS,
    requestTimeout: HEADER_TIMEOUT_MS,
    connectionsCheckingInterval: 1000,
    insecureHTTPParser: false,
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('request', (req, res) => {
    serve(req, res).catch((error: unknown) => {
      log.debug({ err: error }, 'ACME challenge lookup failed')
      if (res.headersSent) res.destroy()
      else respond(res, 503, 'try again later')
    })
  })
  // A connection could not be accepted (EMFILE). The server continues to listen.
  server.on('error', (error) => {
    if (!server.listening || error.message === lastAcceptError) return
    lastAcceptError = error.message
    log.error(`ACME: ${formatAddress(address)} cannot accept a connection: ${error.message}`)
  })
  server.on('connect', (_, socket) => socket.destroy())
  server.on('upgrade', (_, socket) => socket.destroy())

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method, url = '' } = req
    const isRead = method === 'GET' || method === 'HEAD'
    if (url.startsWith(CHALLENGES) && isRead)
      return respondToChallenge(res, url.slice(CHALLENGES.length))
    const headers = req.headersDistinct['host'] ?? []
    const name = toHostName(headers[0] ?? '')
    if (headers.length !== 1 || !isDnsName(name)) return respond(res, 400, 'invalid Host header')
    if (!TARGET.test(url)) return respond(res, 400, 'invalid request target')
    if (!(await hasHost(name))) return respond(res, 404, 'no such host')
    const isStandard = httpsPort === 443 || httpsPort === 0
    const authority = isStandard ? name : `${name}:${httpsPort}`
    // RFC 9110 §15.4.9: 308 preserves the method.
    respond(res, 308, 'use HTTPS', { location: `https://${authority}${url}` })
  }

  async function respondToChallenge(res: ServerResponse, token: string): Promise<void> {
    if (!TOKEN.test(token)) return respond(res, 404, 'no such challenge')
    if (lookups >= LOOKUPS_MAX) return respond(res, 503, 'try again later')
    lookups++
    try {
      const keyAuthorization = await findToken(token)
      if (keyAuthorization === undefined) respond(res, 404, 'no such challenge')
      else respond(res, 200, keyAuthorization, { 'content-type': 'application/octet-stream' })
    } finally {
      lookups--
    }
  }

  async function listen(): Promise<void> {
    try {
      const listening = once(server, 'listening')
      server.listen({ host, port })
      await listening
      if (lastError !== '') log.info(`ACME: now listening on ${formatAddress(address)}`)
    } catch (error) {
      const { message } = toListenError(error as NodeJS.ErrnoException, `${host}:${port}`)
      const text = `${message}: certificates cannot be issued or renewed unless another gateway with the same store serves port 80 of the hosts (acme_address)`
      if (text !== lastError) log.error(text)
      lastError = text
      timer = setTimeout(() => void listen(), retryMs).unref()
    }
  }

  await listen()
  return {
    get port() {
      return (server.address() as AddressInfo | null)?.port ?? 0
    },
    async close() {
      clearTimeout(timer)
      if (!server.listening) return
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function respond(
  res: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  res.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...headers,
  })
  res.end(text)
}
