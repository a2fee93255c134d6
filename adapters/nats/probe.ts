import { connect } from 'node:net'
import type { NatsHost } from './url.ts'

/** What a server says of itself, to whoever connects (NATS client protocol: INFO). */
export interface NatsInfo {
  readonly tls_required?: boolean
  readonly tls_available?: boolean
  readonly headers?: boolean
}

/** A server that answers. */
export interface Probed {
  /** IP address it was reached at. */
  readonly ip: string
  readonly info: NatsInfo
}

const MAX_INFO_BYTES = 1024 * 1024

/**
 * Looks whether a server answers. The library connects only to one that does: an attempt of its own that runs out of time leaves
 * its socket open, as long as the other side has it so.
 *
 * @throws {Error} why it does not.
 */
export function probeNats(
  { host, port }: NatsHost,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Probed> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port })
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs)
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
    socket.on('close', () => fail('it closes the connection'))
    socket.on('data', (part: string) => {
      text += part
      const lineEnd = text.indexOf('\r\n')
      if (lineEnd < 0 && text.length < MAX_INFO_BYTES) return
      const info = parseInfo(text.slice(0, Math.max(0, lineEnd)))
      const ip = socket.remoteAddress
      if (info === undefined) return fail('it does not speak the protocol of NATS')
      if (ip === undefined) return fail('it closes the connection')
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
