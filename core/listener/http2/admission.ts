import { constants, type ServerHttp2Stream } from 'node:http2'
import { countBuffered, type RequestBuffer } from '../../limits/request-buffers.ts'
import { type UnreadBody, unwatchUnread, watchUnread } from '../unread-bodies.ts'

/**
 * Maximum number of HTTP/2 requests that start in one tick of the event loop, across all connections. A tick may
 * receive 128 requests on each of hundreds of connections, and would serve nothing else until all have started.
 */
const TICK_REQUESTS = 64
/**
 * Maximum number of requests per client waiting to start. Further requests are rejected with `REFUSED_STREAM`, which
 * permits retries (RFC 9113 §8.7).
 */
const WAITING_MAX = 1024

/** Requests waiting to start, by client. */
const lanes = new Map<string, Set<WaitingRequest>>()
let started = 0
let isScheduled = false

/**
 * Starts a request in this tick, or in a later one if too many requests start in this tick. Round-robin across clients.
 *
 * @param client network of the client.
 */
export function scheduleFairly(client: string, stream: ServerHttp2Stream, begin: () => void): void {
  schedule()
  if (lanes.size === 0 && started < TICK_REQUESTS) {
    started++
    begin()
    return
  }
  let lane = lanes.get(client)
  if (lane === undefined) {
    lane = new Set()
    lanes.set(client, lane)
  }
  const waiting = new WaitingRequest(stream, begin, lane)
  lane.add(waiting)
  if (lane.size > WAITING_MAX) waiting.reject()
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(nextTick)
}

function nextTick(): void {
  isScheduled = false
  started = 0
  while (started < TICK_REQUESTS && lanes.size > 0) {
    const [client, lane] = lanes.entries().next().value!
    // Moves the client to the end of the queue.
    lanes.delete(client)
    const [first] = lane
    first?.start()
    if (lane.size > 0) lanes.set(client, lane)
    started++
  }
  if (started > 0) schedule()
}

/** A request waiting to start. The part of its body buffered by the library counts as buffered. */
class WaitingRequest implements RequestBuffer, UnreadBody {
  bufferedBytes = 0
  readonly isDroppable = true
  readonly #stream: ServerHttp2Stream
  readonly #begin: () => void
  readonly #lane: Set<WaitingRequest>

  constructor(stream: ServerHttp2Stream, begin: () => void, lane: Set<WaitingRequest>) {
    this.#stream = stream
    this.#begin = begin
    this.#lane = lane
    stream.on('error', () => {})
    // A request canceled by its client does not start, and counts immediately.
    stream.on('close', () => this.start())
    watchUnread(this)
  }

  start(): void {
    if (this.#leave()) this.#begin()
  }

  reject(): void {
    this.#leave()
    this.#stream.close(constants.NGHTTP2_REFUSED_STREAM)
    // Unread bytes would keep the stream open.
    this.#stream.resume()
  }

  countUnread(): void {
    countBuffered(this, this.#stream.readableLength)
  }

  dropBufferedBody(): void {
    this.reject()
  }

  /** @returns whether the request was still waiting. */
  #leave(): boolean {
    unwatchUnread(this)
    countBuffered(this, 0)
    return this.#lane.delete(this)
  }
}
