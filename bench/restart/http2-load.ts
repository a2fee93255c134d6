import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { type Outcomes, sendAtRate } from './at-rate.ts'

/** Result of an HTTP/2 load. */
export interface Http2Result extends Outcomes {
  /**
   * Number of requests that a closing connection rejected as unprocessed and that were retried on another one (RFC 9113
   * §8.7).
   */
  readonly retriedCount: number
  /** Number of opened connections. */
  readonly connections: number
}

const CONNECTIONS = 8
const REJECTED = 'refused'

/**
 * Sends requests at a constant rate over persistent connections until the signal aborts, and then waits for pending
 * requests.
 */
export async function runHttp2Load(
  urls: readonly string[],
  rate: number,
  signal: AbortSignal,
): Promise<Http2Result> {
  const sessions = new Array<ClientHttp2Session | undefined>(CONNECTIONS).fill(undefined)
  const open = new Set<ClientHttp2Session>()
  let retried = 0
  let connections = 0

  function getSession(index: number): ClientHttp2Session {
    const existing = sessions[index]
    if (existing !== undefined && !existing.closed && !existing.destroyed) return existing
    connections++
    const session = connect(urls[0]!)
    // Each stream reports its own error.
    session.on('error', () => {})
    session.on('close', () => open.delete(session))
    open.add(session)
    sessions[index] = session
    return session
  }

  async function sendOne(n: number): Promise<string> {
    const { pathname } = new URL(urls[n % urls.length]!)
    let outcome = await request(getSession(n % CONNECTIONS), pathname)
    for (; outcome === REJECTED; retried++)
      outcome = await request(getSession(n % CONNECTIONS), pathname)
    return outcome
  }

  const result = await sendAtRate(rate, signal, sendOne)
  for (const session of open) session.close()
  return { ...result, retriedCount: retried, connections }
}

/** Resolves with the status or an error code. */
function request(session: ClientHttp2Session, path: string): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request({ ':path': path })
    let status = 'no response'
    stream.on('response', (head) => {
      status = String(head[':status'])
    })
    stream.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      const isRejected = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM
      resolve(isRejected ? REJECTED : (code ?? message))
    })
    stream.on('close', () => resolve(status))
    stream.resume()
  })
}
