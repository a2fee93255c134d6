import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Log } from '../process/log.ts'
import type { Address } from '../settings/parse/address.ts'
import type { Readiness } from './readiness.ts'

/** A text for who asks: its media type, and itself. */
export interface AdminSource {
  readonly type: string
  readonly text: string
}

export interface AdminOptions {
  readonly address: Address
  /** Whether a `Host` field is one it is asked by. */
  readonly isHost: (host: string) => boolean
  readonly readiness: Pick<Readiness, 'problems'>
  /** The numbers of the process, in the form that an `Accept` field asks for. */
  readonly scrape: (accept: string) => Promise<AdminSource>
  readonly log: Log
}

/** The open admin address. */
export interface Admin {
  readonly port: number
  readonly close: () => Promise<void>
}

interface Answer extends AdminSource {
  readonly status: number
}

const TEXT = 'text/plain; charset=utf-8'
/** What it is asked is a line and a few fields. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 2000,
  requestTimeout: 5000,
  connectionsCheckingInterval: 1000,
}
const MAX_CONNECTIONS = 64
/** Of a client that does not read. */
const SILENCE_MS = 65_000
const METHODS = 'GET, HEAD'

/**
 * Opens the address that tells operators of a process: `/livez` (it runs), `/readyz` (it is to be sent requests, else 503 with a line for each
 * reason) and `/metrics`.
 *
 * @throws {Error} of the system, when the port cannot be opened.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { address, isHost, readiness, scrape, log } = options

  const paths: Readonly<Record<string, (request: IncomingMessage) => Promise<Answer> | Answer>> = {
    '/livez': () => tell(200, 'alive'),
    '/readyz': async () => {
      const problems = await readiness.problems()
      return problems.length === 0 ? tell(200, 'ready') : tell(503, problems.join('\n'))
    },
    '/metrics': async ({ headers }) => ({ status: 200, ...(await scrape(headers.accept ?? '')) }),
  }

  const answer = (request: IncomingMessage): Promise<Answer> | Answer => {
    const { method, url = '', headers } = request
    if (!isHost(headers.host ?? '')) return tell(403, 'this host is not allowed; add it to --hosts')
    const [path = ''] = url.split('?', 1)
    const serve = Object.hasOwn(paths, path) ? paths[path] : undefined
    if (serve === undefined)
      return tell(404, `nothing is here; there are ${Object.keys(paths).join(', ')}`)
    if (method !== 'GET' && method !== 'HEAD') return tell(405, `${METHODS} expected`)
    return serve(request)
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let told: Answer
    try {
      told = await answer(request)
    } catch (error) {
      log.error({ err: error }, 'the admin address failed; answered 500')
      told = tell(500, 'this cannot be told; the log says why')
    }
    send(response, told, request.method === 'HEAD')
  }

  const server = createServer(LIMITS, (request, response) => void serve(request, response))
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(SILENCE_MS)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...address, exclusive: true }, resolve)
  })
  server.on('error', (error) => log.error({ err: error }, 'the admin address failed'))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function tell(status: number, text: string): Answer {
  return { status, type: TEXT, text: `${text}\n` }
}

function send(response: ServerResponse, { status, type, text }: Answer, isHead: boolean): void {
  const body = Buffer.from(text)
  response.writeHead(status, {
    'content-type': type,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    // An idle connection could be kept open for ever with empty lines.
    connection: 'close',
    ...(status === 405 && { allow: METHODS }),
  })
  response.end(isHead ? undefined : body)
}
