import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

export interface HttpClientOptions {
  readonly url: URL
  /** From the start to the end of the response. */
  readonly timeoutMs: number
  /** Maximum length of a response body, then the request fails. */
  readonly maxBodyBytes: number
}

export interface HttpReply {
  readonly status: number
  /** Names and values as received. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

export interface HttpClient {
  /**
   * Sends a GET. Redirects are not followed.
   *
   * @param headers names and values
   * @throws {Error} when the server is unreachable, too slow, or its response too long.
   */
  readonly get: (headers: readonly string[]) => Promise<HttpReply>
  readonly close: () => void
}

/** Idle connections. */
const SOCKETS_MAX = 64

/** Client of one URL with persistent connections. */
export function createHttpClient({ url, timeoutMs, maxBodyBytes }: HttpClientOptions): HttpClient {
  const isSecure = url.protocol === 'https:'
  const settings = { keepAlive: true, maxFreeSockets: SOCKETS_MAX }
  const agent = isSecure ? new HttpsAgent(settings) : new HttpAgent(settings)
  const request = isSecure ? requestHttps : requestHttp

  function send(headers: readonly string[], isRepeat: boolean): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const call = request(url, { agent, headers: [...headers, 'host', url.host] })
      let isSettled = false
      const fail = (error: Error): void => {
        if (isSettled) return
        isSettled = true
        clearTimeout(timer)
        // The server closed the persistent connection in the meantime.
        const isStale = call.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
        if (isStale && !isRepeat) resolve(send(headers, true))
        else reject(error)
      }
      // Without the error: a socket that the agent reuses has no handler for it.
      const cancel = (reason: string): void => {
        fail(new Error(reason))
        call.destroy()
      }
      const timer = setTimeout(() => cancel(`no response within ${timeoutMs} ms`), timeoutMs)
      call.on('response', (reply) => {
        const { statusCode = 0, rawHeaders } = reply
        if (statusCode < 200 || statusCode > 599) return cancel(`invalid status ${statusCode}`)
        const chunks: Buffer[] = []
        let length = 0
        reply.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          length += chunk.length
          if (length > maxBodyBytes) cancel(`response exceeds ${maxBodyBytes} bytes`)
        })
        reply.on('end', () => {
          isSettled = true
          clearTimeout(timer)
          resolve({ status: statusCode, headers: rawHeaders, body: Buffer.concat(chunks) })
        })
        reply.on('error', fail)
      })
      call.on('error', fail)
      call.end()
    })
  }

  return { get: (headers) => send(headers, false), close: () => agent.destroy() }
}
