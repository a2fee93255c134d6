import { performServerHandshake, type ServerOptions } from 'node:http2'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { STREAMS_MAX } from '../limits.ts'
import { Http2Connection, type Http2Serving } from './connection.ts'

/** Flow-control windows for request bodies, per stream and per connection. */
const STREAM_WINDOW_BYTES = 256 * 1024
const CONNECTION_WINDOW_BYTES = 1024 * 1024
/** Interval of checks for stalled connections. */
const SWEEP_MS = 1000

const OPTIONS: ServerOptions = {
  settings: {
    enablePush: false,
    maxConcurrentStreams: STREAMS_MAX,
    initialWindowSize: STREAM_WINDOW_BYTES,
    // Twice the limit for 431, because the library resets streams above this size without a response.
    maxHeaderListSize: 32 * 1024,
  },
  maxHeaderListPairs: 1024,
  // Responses pending for slow clients have a separate limit across all connections.
  maxSessionMemory: 1024,
}

/** HTTP/2 connections of a listener. */
export interface Http2 {
  /** Serves a connection whose bytes are unread or were put back. */
  readonly accept: (socket: Socket) => void
  /** Stops accepting requests; each connection is closed after its last response. */
  readonly drain: (keepIdle?: boolean) => void
  /** Immediately ends all connections. */
  readonly close: () => void
}

/** Serves HTTP/2 with node:http2. nghttp2 limits floods of acknowledgements, CONTINUATION frames and resets. */
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
      // node:http requires half-open connections. For HTTP/2, a client that ends its half has disconnected.
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
