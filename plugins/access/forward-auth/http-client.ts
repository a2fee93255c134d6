import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

export interface HttpClientOptions {
  readonly url: URL
  /** Timeout from the start to the end of the response. */
  readonly timeoutMs: number
  /** Maximum length of a response body; longer ones fail the request. */
  readonly maxBodyBytes: number
}

export interface HttpReply {
  readonly status: number
  /** Header names and values as received. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

export interface HttpClient {
  /**
   * Sends a GET request. Redirects are not followed.
   *
   * @param headers names and values.
   * @throws {Error} if the server is unreachable or too slow, or its response is too long.
   */
  readonly get: (headers: readonly string[]) => Promise<HttpReply>
  readonly close: () => void
}

/** Maximum number of idle connections. */
const SOCKETS_MAX = 64

/** Creates a client for one URL with persistent connections. */
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
        // The server has closed the persistent connection in the meantime.
        const isStale = call.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
        if (isStale && !isRepeat) resolve(send(headers, true))
        else reject(error)
      }
      // Without an error argument, since a socket reused by the agent has no error handler.
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
