import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDnsName, toHostName } from '../../core/http/host-name.ts'
import { toListenError } from '../../core/listener/errors.ts'
import type { Log } from '../process/log.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'

export interface HttpChallengeServerOptions {
  readonly address: Address
  /** What answers a challenge (RFC 8555 §8.3); undefined: there is no such token. May reject. */
  readonly findToken: (token: string) => Promise<string | undefined>
  /** Whether there is a certificate for a host, or will be at once. Never rejects. */
  readonly hasHost: (host: string) => Promise<boolean>
  /** Of the gateway; 0: the standard one. */
  readonly httpsPort: number
  readonly log: Log
  /** Milliseconds until a port that could not be opened is tried again. @default 60000 */
  readonly retryMs?: number
}

/** The port for plain HTTP: challenges, and the way to HTTPS. */
export interface HttpChallengeServer {
  /** 0: it is not open. */
  readonly port: number
  readonly close: () => Promise<void>
}

const CHALLENGES = '/.well-known/acme-challenge/'
/** RFC 8555 §8.1: base64url; of 128 bits or more. */
const TOKEN = /^[A-Za-z0-9_-]{20,256}$/
/** What may stand in a `Location` as it is (RFC 3986 §3.3, §3.4), and what browsers send besides. */
const TARGET = /^\/[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]*$/
/** Challenges that are looked up at a time, in a store that may be elsewhere. */
const LOOKUPS_MAX = 64
const CONNECTIONS_MAX = 1000
const HEADER_MAX_BYTES = 8 * 1024
const HEADER_TIMEOUT_MS = 5000

/** Opens the port. One that cannot be opened is told, and tried again: certificates there are go on being served. */
export async function openHttpChallengeServer(
  options: HttpChallengeServerOptions,
): Promise<HttpChallengeServer> {
  const { address, findToken, hasHost, httpsPort, log, retryMs = 60_000 } = options
  const { host, port } = address
  let lookups = 0
  let told = ''
  let toldOpen = ''
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
      log.debug({ err: error }, 'a challenge cannot be looked up')
      if (res.headersSent) res.destroy()
      else answer(res, 503, 'try again later')
    })
  })
  // Of a connection that cannot be accepted, for want of files: the port stays open.
  server.on('error', (error) => {
    if (!server.listening || error.message === toldOpen) return
    toldOpen = error.message
    log.error(`ACME: ${formatAddress(address)} does not answer everybody: ${error.message}`)
  })
  // Neither is anything here.
  server.on('connect', (_, socket) => socket.destroy())
  server.on('upgrade', (_, socket) => socket.destroy())

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method, url = '' } = req
    const isRead = method === 'GET' || method === 'HEAD'
    if (url.startsWith(CHALLENGES) && isRead)
      return answerChallenge(res, url.slice(CHALLENGES.length))
    const fields = req.headersDistinct['host'] ?? []
    const name = toHostName(fields[0] ?? '')
    if (fields.length !== 1 || !isDnsName(name)) return answer(res, 400, 'wrong Host')
    if (!TARGET.test(url)) return answer(res, 400, 'wrong request target')
    if (!(await hasHost(name))) return answer(res, 404, 'no such host')
    const isStandard = httpsPort === 443 || httpsPort === 0
    const authority = isStandard ? name : `${name}:${httpsPort}`
    // RFC 9110 §15.4.9: the method stays what it is.
    answer(res, 308, 'use HTTPS', { location: `https://${authority}${url}` })
  }

  async function answerChallenge(res: ServerResponse, token: string): Promise<void> {
    if (!TOKEN.test(token)) return answer(res, 404, 'no such challenge')
    if (lookups >= LOOKUPS_MAX) return answer(res, 503, 'try again later')
    lookups++
    try {
      const found = await findToken(token)
      if (found === undefined) answer(res, 404, 'no such challenge')
      else answer(res, 200, found, { 'content-type': 'application/octet-stream' })
    } finally {
      lookups--
    }
  }

  async function listen(): Promise<void> {
    try {
      const listening = once(server, 'listening')
      server.listen({ host, port })
      await listening
      if (told !== '') log.info(`ACME: listening on ${formatAddress(address)} now`)
    } catch (error) {
      const { message } = toListenError(error as NodeJS.ErrnoException, host, port)
      const text = `${message}: certificates can be neither issued nor renewed, unless another gateway of the same store answers at port 80 of their hosts (acme_address)`
      if (text !== told) log.error(text)
      told = text
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

function answer(
  res: ServerResponse,
  status: number,
  text: string,
  fields: Readonly<Record<string, string>> = {},
): void {
  res.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    ...fields,
  })
  res.end(text)
}
