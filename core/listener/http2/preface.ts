import type { Socket } from 'node:net'
import { HEADER_TIMEOUT_MS } from '../limits.ts'

/** Connection preface of HTTP/2 with prior knowledge (RFC 9113 §3.3, §3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Detects the protocol of connections without TLS from the first bytes sent by the client. */
export interface PrefaceReader {
  readonly accept: (socket: Socket) => void
  /** Closes connections whose protocol is still unknown. */
  readonly drain: () => void
}

/**
 * Both callbacks receive a socket with its bytes put back; for HTTP/2, the socket is paused.
 *
 * @param timeoutMs time limit for the preface, after which the connection is closed.
 */
export function createPrefaceReader(
  serveHttp1: (socket: Socket) => void,
  serveHttp2: (socket: Socket) => void,
  timeoutMs: number = HEADER_TIMEOUT_MS,
): PrefaceReader {
  const waiting = new Set<Socket>()

  const accept = (socket: Socket): void => {
    let head: Buffer = Buffer.alloc(0)
    waiting.add(socket)
    const removeListeners = (): void => {
      waiting.delete(socket)
      socket.off('data', detect)
      socket.off('end', end)
      socket.off('close', removeListeners)
      clearTimeout(timer)
    }
    const detect = (chunk: Buffer): void => {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
      const length = Math.min(head.length, PREFACE.length)
      const isHttp2 = head.subarray(0, length).equals(PREFACE.subarray(0, length))
      if (isHttp2 && length < PREFACE.length) return
      removeListeners()
      socket.pause()
      socket.unshift(head)
      if (isHttp2) return serveHttp2(socket)
      serveHttp1(socket)
      socket.resume()
    }
    const end = (): void => {
      socket.destroy()
    }
    // Every error is followed by `close`.
    socket.on('error', () => {})
    // A separate timer, because the timer of the socket restarts with every byte.
    const timer = setTimeout(end, timeoutMs)
    socket.on('data', detect)
    socket.on('end', end)
    socket.on('close', removeListeners)
  }

  return {
    accept,
    drain() {
      for (const socket of waiting) socket.destroySoon()
    },
  }
}
