import { Agent, request } from 'node:https'
import { createSecureContext, rootCertificates } from 'node:tls'
import { AcmeError, parseRetryAfter } from './acme-error.ts'

export interface TransportOptions {
  /**
   * Additional CA certificates for the directory in PEM format. If undefined, only the certificate
   * authorities of Node.js are trusted.
   */
  readonly ca: string | undefined
  readonly nowMs: () => number
  /**
   * Called for each response with the number of milliseconds by which the directory's clock is
   * ahead.
   */
  readonly onSkew: (skewMs: number) => void
  /** Aborts requests in flight. */
  readonly signal: AbortSignal
  /** @default 30000 */
  readonly timeoutMs?: number
}

/** A request of the ACME library. */
export interface AcmeRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface AcmeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Undefined for a successful response. */
  readonly problem: AcmeError | undefined
}

/** HTTPS client for one ACME server. */
export interface Transport {
  /** @throws {AcmeError} `unavailable` if there is no response. */
  readonly send: (request: AcmeRequest) => Promise<AcmeResponse>
}

type RawResponse = Omit<AcmeResponse, 'problem'>

/** Certificates with their chains have a size of a few KiB. */
const RESPONSE_MAX_BYTES = 1024 * 1024
/** Node.js error codes for certificates that have expired or are not yet valid. */
const INVALID_PERIOD: readonly unknown[] = ['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED']

export function createTransport(options: TransportOptions): Transport {
  const { ca, nowMs, onSkew, timeoutMs = 30_000 } = options
  const authorities = ca === undefined ? undefined : [...rootCertificates, ca]
  // Parses the CA certificates once instead of for each connection.
  const secureContext = authorities && createSecureContext({ ca: authorities })
  const agent = new Agent({ keepAlive: true, ...(secureContext && { secureContext }) })
  options.signal.addEventListener('abort', () => agent.destroy())

  function fetch({ url, method, headers, body }: AcmeRequest): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      const timeout = AbortSignal.timeout(timeoutMs)
      const signal = AbortSignal.any([timeout, options.signal])
      const req = request(url, { method, headers, signal, agent }, (res) => {
        const chunks: Buffer[] = []
        let bytes = 0
        res.on('error', reject)
        res.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > RESPONSE_MAX_BYTES) req.destroy(new Error('the response is too large'))
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
        reject(timeout.aborted ? new Error(`no response within ${timeoutMs} ms`) : error),
      )
      req.end(body)
    })
  }

  async function send(acmeRequest: AcmeRequest): Promise<AcmeResponse> {
    let response: RawResponse
    try {
      if (!acmeRequest.url.startsWith('https:'))
        throw new Error('the ACME directory must be an https:// URL')
      response = await fetch(acmeRequest)
    } catch (error) {
      const { host } = new URL(acmeRequest.url)
      throw new AcmeError(`${host} is unreachable: ${explain(error)}`, {
        kind: 'unavailable',
        cause: error,
      })
    }
    const dateMs = Date.parse(response.headers['date'] ?? '')
    if (!Number.isNaN(dateMs)) onSkew(dateMs - nowMs())
    return {
      ...response,
      problem: response.status < 400 ? undefined : toProblem(response, nowMs()),
    }
  }

  return { send }
}

/** Returns the error described by a problem document (RFC 8555 §6.7). */
function toProblem({ status, headers, body }: RawResponse, nowMs: number): AcmeError {
  const retryAfterMs = parseRetryAfter(headers['retry-after'], nowMs)
  const { type = '', detail } = parseProblem(body)
  const isRateLimited = status === 429 || type.endsWith(':rateLimited')
  const kind = isRateLimited ? 'rateLimited' : status >= 500 ? 'unavailable' : 'rejected'
  const errorType = type.replace(/^urn:ietf:params:acme:error:/, '')
  const message = [errorType, detail].filter((text) => text).join(': ')
  return new AcmeError(message || `status ${status}`, { kind, retryAfterMs })
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
  // The message is empty if several addresses failed.
  const reason = message || code || 'unknown error'
  if (INVALID_PERIOD.includes(code))
    return `${reason}: check the certificate of the directory and the clock of this machine`
  if (code !== undefined && /^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO)/.test(code))
    return `${reason}: set acme_ca_file to the CA of its certificate`
  return reason
}

function toTexts(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) texts[name] = String(value ?? '')
  return texts
}
