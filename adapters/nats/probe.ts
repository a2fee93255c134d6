import { connect } from 'node:net'
import type { NatsHost } from './url.ts'

/** Server information that clients receive on connect (NATS client protocol: INFO). */
export interface NatsInfo {
  readonly tls_required?: boolean
  readonly tls_available?: boolean
  readonly headers?: boolean
}

/** A reachable server. */
export interface Probed {
  readonly ip: string
  readonly info: NatsInfo
}

const MAX_INFO_BYTES = 1024 * 1024

/**
 * Checks whether a server responds. The library is only used with responding servers: if one of its
 * own attempts times out, the socket stays open until the peer closes it.
 *
 * @throws {Error} with the reason for the failure.
 */
export function probeNats(
  { host, port }: NatsHost,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Probed> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const timer = setTimeout(() => fail(`no response within ${timeoutMs} ms`), timeoutMs)
    let text = ''

    function end(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.destroy()
    }
    function fail(reason: string): void {
      end()
      reject(new Error(reason))
    }
    function onAbort(): void {
      fail('the connection is closed')
    }

    signal.addEventListener('abort', onAbort)
    socket.setEncoding('utf8')
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      fail(code === 'ECONNREFUSED' ? 'connection refused' : message || String(code))
    })
    socket.on('close', () => fail('connection closed'))
    socket.on('data', (part: string) => {
      text += part
      const lineEnd = text.indexOf('\r\n')
      if (lineEnd < 0 && text.length < MAX_INFO_BYTES) return
      const info = parseInfo(text.slice(0, Math.max(0, lineEnd)))
      const ip = socket.remoteAddress
      if (info === undefined) return fail('not a NATS server')
      if (ip === undefined) return fail('connection closed')
      end()
      resolve({ ip, info })
    })
    if (signal.aborted) onAbort()
  })
}

function parseInfo(line: string): NatsInfo | undefined {
  if (!/^INFO\s/i.test(line)) return undefined
  try {
    const info: unknown = JSON.parse(line.slice(4))
    return typeof info === 'object' && info !== null ? info : undefined
  } catch {
    return undefined
  }
}
