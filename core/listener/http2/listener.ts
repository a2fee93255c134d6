import { performServerHandshake, type ServerOptions } from 'node:http2'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { STREAMS_MAX } from '../limits.ts'
import { Http2Connection, type Http2Serving } from './connection.ts'

/** Bytes of a request body a client may send before they are read, of one stream and of all of its connection. */
const STREAM_WINDOW_BYTES = 256 * 1024
const CONNECTION_WINDOW_BYTES = 1024 * 1024
/** How often connections that have stopped moving are looked for. */
const SWEEP_MS = 1000

const OPTIONS: ServerOptions = {
  settings: {
    enablePush: false,
    maxConcurrentStreams: STREAMS_MAX,
    initialWindowSize: STREAM_WINDOW_BYTES,
    // Twice what is answered 431: beyond it the library resets the stream without a word.
    maxHeaderListSize: 32 * 1024,
  },
  maxHeaderListPairs: 1024,
  // Replies that wait for slow clients have a bound of their own, over all connections.
  maxSessionMemory: 1024,
}

/** The connections of a listener whose clients speak HTTP/2. */
export interface Http2 {
  /** Serves a connection of which nothing has been read, or what has been read was put back. */
  readonly accept: (socket: Socket) => void
  /** Takes no more requests; each connection is closed after its last reply. */
  readonly drain: (keepIdle?: boolean) => void
  /** Ends all connections at once. */
  readonly close: () => void
}

/** Serves HTTP/2 with node:http2. Floods of frames are nghttp2's to stop: its bounds on acknowledgements, CONTINUATION and resets. */
export function createHttp2(serving: Http2Serving): Http2 {
  const connections = new Set<Http2Connection>()
  let draining = false
  let keepsIdle = false
  let sweeper: NodeJS.Timeout | undefined

  const add = (connection: Http2Connection): void => {
    connections.add(connection)
    sweeper ??= setInterval(() => {
      for (const each of connections) each.sweep(clock.nowMs)
    }, SWEEP_MS).unref()
  }

  const remove = (connection: Http2Connection): void => {
    connections.delete(connection)
    if (connections.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }

  return {
    accept(socket) {
      if (socket.destroyed) return
      // As node:http wants it. Here a client that ends its half has left.
      socket.allowHalfOpen = false
      const session = performServerHandshake(socket, OPTIONS)
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
      const connection = new Http2Connection(session, socket, serving)
      add(connection)
      session.once('close', () => remove(connection))
      if (draining) connection.drain(keepsIdle)
    },
    drain(keepIdle = false) {
      draining = true
      keepsIdle = keepIdle
      for (const connection of connections) connection.drain(keepIdle)
    },
    close() {
      for (const connection of connections) connection.end()
    },
  }
}
