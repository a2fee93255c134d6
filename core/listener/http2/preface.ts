import type { Socket } from 'node:net'
import { HEADER_TIMEOUT_MS } from '../limits.ts'

/** What a client that knows of HTTP/2 beforehand sends first (RFC 9113 §3.3, §3.4). */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** Tells connections without TLS apart by the first bytes of the client. */
export interface PrefaceReader {
  readonly accept: (socket: Socket) => void
  /** Closes the connections whose clients have sent nothing that tells. */
  readonly drain: () => void
}

/**
 * Both functions are given a socket as if nothing had been read of it; for HTTP/2 it is paused.
 *
 * @param timeoutMs from the connection to the last byte that tells, however many come one by one; then it is closed.
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
    const leave = (): void => {
      waiting.delete(socket)
      socket.off('data', look)
      socket.off('end', end)
      socket.off('close', leave)
      clearTimeout(timer)
    }
    const look = (chunk: Buffer): void => {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
      const length = Math.min(head.length, PREFACE.length)
      const isHttp2 = head.subarray(0, length).equals(PREFACE.subarray(0, length))
      if (isHttp2 && length < PREFACE.length) return
      leave()
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
    // Not the socket's own timer, which begins anew with every byte.
    const timer = setTimeout(end, timeoutMs)
    socket.on('data', look)
    socket.on('end', end)
    socket.on('close', leave)
  }

  return {
    accept,
    drain() {
      for (const socket of waiting) socket.destroySoon()
    },
  }
}
