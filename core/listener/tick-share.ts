import { deferUntilNextTick } from './uws/deferred-replies.ts'

/** A client that can be paused for the rest of a tick of the event loop. */
export interface TickReader {
  pauseForTick(): void
  resumeAfterTick(): void
}

const MIB = 1024 * 1024
/**
 * Bytes that all clients together may send in one tick: beyond them, only the client that is being read continues in this tick. A
 * megabyte of messages takes one to two milliseconds of CPU time, in which no other request of the process is served.
 */
const TICK_BYTES = 2 * MIB
/**
 * Bytes that one client may send in one tick, beyond as much as its backend has read from it before. uSockets reads a socket again while
 * it fills the whole buffer of 512 KiB, even when it is paused: only closing it stops that.
 */
const CLIENT_TICK_BYTES = 12 * MIB
/** Clients that have sent nothing for this long are not paused. */
const IDLE_MS = 10_000

const shares = new Set<TickShare>()
let tick = -1
let tickBytes = 0
let arePaused = false

/** Bytes that a client sends in a tick of the event loop faster than its backend reads them. */
export class TickShare {
  readonly #reader: TickReader
  #tick = -1
  #bytes = 0
  #activeMs = performance.now()

  constructor(reader: TickReader) {
    this.#reader = reader
    shares.add(this)
  }

  /**
   * Counts a message. Pauses the other clients until the end of the tick if the clients have sent too much in it together.
   *
   * @param readBytes bytes of the client's messages that its backend has read so far.
   * @returns true if the client floods and must be closed.
   */
  add(bytes: number, readBytes: number): boolean {
    const now = deferUntilNextTick()
    if (tick !== now) {
      tick = now
      tickBytes = 0
    }
    if (this.#tick !== now) {
      this.#tick = now
      this.#bytes = 0
      this.#activeMs = performance.now()
      shares.add(this)
    }
    tickBytes += bytes
    this.#bytes += bytes
    if (tickBytes > TICK_BYTES && !arePaused) pauseOthers(this)
    // One tick may receive the end of one message and another one, each as long as the limit of the listener.
    return this.#bytes > CLIENT_TICK_BYTES + readBytes + 2 * bytes
  }

  /** The client is closed. */
  end(): void {
    shares.delete(this)
  }

  get reader(): TickReader {
    return this.#reader
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#activeMs > IDLE_MS
  }
}

function pauseOthers(sender: TickShare): void {
  arePaused = true
  const nowMs = performance.now()
  const paused: TickReader[] = []
  for (const share of shares) {
    if (share === sender) continue
    if (share.isIdle(nowMs)) shares.delete(share)
    else {
      share.reader.pauseForTick()
      paused.push(share.reader)
    }
  }
  setImmediate(() => {
    arePaused = false
    for (const reader of paused) reader.resumeAfterTick()
  })
}
