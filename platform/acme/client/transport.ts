import { Agent, request } from 'node:https'
import { createSecureContext, rootCertificates } from 'node:tls'
import { AcmeError, parseRetryAfter } from './acme-error.ts'

export interface TransportOptions {
  /** PEM of authorities the directory's certificate may be of, besides those of Node.js; undefined: no others. */
  readonly ca: string | undefined
  /** Unix time. */
  readonly nowMs: () => number
  /** Told how far ahead of this machine the directory's clock is, milliseconds, with each answer. */
  readonly onSkew: (skewMs: number) => void
  /** Ends requests under way. */
  readonly signal: AbortSignal
  /** @default 30000 */
  readonly timeoutMs?: number
}

/** A request to an ACME server, as the library has it. */
export interface AcmeRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface AcmeReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Undefined: it is one of success. */
  readonly problem: AcmeError | undefined
}

/** What carries requests to one ACME server. */
export interface Transport {
  /** @throws {AcmeError} `away`, when there is no answer, or one that says so. */
  readonly send: (asked: AcmeRequest) => Promise<AcmeReply>
}

type Answer = Omit<AcmeReply, 'problem'>

/** Certificates with their chains are a few KiB. */
const REPLY_MAX_BYTES = 1024 * 1024
/** OpenSSL on a certificate out of its time, as Node.js has it. */
const OUT_OF_TIME: readonly unknown[] = ['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED']

export function createTransport(options: TransportOptions): Transport {
  const { ca, nowMs, onSkew, timeoutMs = 30_000 } = options
  const authorities = ca === undefined ? undefined : [...rootCertificates, ca]
  // An order is a dozen requests, more where nonces are refused.
  // Authorities are read once, not for each connection.
  const secureContext = authorities && createSecureContext({ ca: authorities })
  const agent = new Agent({ keepAlive: true, ...(secureContext && { secureContext }) })
  options.signal.addEventListener('abort', () => agent.destroy())

  function ask({ url, method, headers, body }: AcmeRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const late = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([late, options.signal])
      const req = request(url, { method, headers, signal, agent }, (res) => {
        const chunks: Buffer[] = []
        let bytes = 0
        res.on('error', reject)
        res.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > REPLY_MAX_BYTES) req.destroy(new Error('its answer is too long'))
          else chunks.push(chunk)
        })
        res.on('end', () =>
          resolve({
            status: res.statusCode!,
            headers: toTexts(res.headers),
            body: Buffer.concat(chunks).toString(),
          }),
        )
      })
      req.on('error', (error) =>
        reject(late.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error),
      )
      req.end(body)
    })
  }

  async function send(asked: AcmeRequest): Promise<AcmeReply> {
    let reply: Answer
    try {
      if (!asked.url.startsWith('https:')) throw new Error('ACME is spoken over https:// alone')
      reply = await ask(asked)
    } catch (error) {
      const { host } = new URL(asked.url)
      throw new AcmeError(`${host} cannot be reached: ${explain(error)}`, {
        kind: 'away',
        cause: error,
      })
    }
    const dateMs = Date.parse(reply.headers['date'] ?? '')
    if (!Number.isNaN(dateMs)) onSkew(dateMs - nowMs())
    return { ...reply, problem: reply.status < 400 ? undefined : toProblem(reply, nowMs()) }
  }

  return { send }
}

/** What an answer says is wrong (RFC 8555 §6.7). */
function toProblem({ status, headers, body }: Answer, nowMs: number): AcmeError {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], nowMs)
  const { type = '', detail } = parseProblem(body)
  const isLimited = status === 429 || type.endsWith(':rateLimited')
  const kind = isLimited ? 'limited' : status >= 500 ? 'away' : 'refused'
  const what = type.replace(/^urn:ietf:params:acme:error:/, '')
  const said = [what, detail].filter((text) => text).join(': ')
  return new AcmeError(said === '' ? `status ${status}` : said, { kind, retryAfterMs })
}

function parseProblem(body: string): { readonly type?: string; readonly detail?: string } {
  try {
    const { type, detail } = JSON.parse(body) as Record<string, unknown>
    return {
      ...(typeof type === 'string' && { type }),
      ...(typeof detail === 'string' && { detail }),
    }
  } catch {
    return {}
  }
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  // Of several addresses that refuse, an error has no words but a code.
  const reason = message || code || 'no reason is known'
  if (OUT_OF_TIME.includes(code))
    return `${reason}: if its certificate is right, the clock of this machine is not`
  if (code !== undefined && /^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code))
    return `${reason}: name the file of its certificate's authority in acme_ca_file`
  return reason
}

function toTexts(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) texts[name] = String(value ?? '')
  return texts
}
