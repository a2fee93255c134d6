import { deferUntilNextTick } from './uws/deferred-replies.ts'

/** A client that can be paused for the rest of an event loop tick. */
export interface TickReader {
  pauseForTick(): void
  resumeAfterTick(): void
}

const MIB = 1024 * 1024
/**
 * Maximum bytes that all clients together may send in one tick. Beyond it, only the client being read continues in this
 * tick. A megabyte of messages takes 1 to 2 ms of CPU time, during which the process serves no other request.
 */
const TICK_BYTES = 2 * MIB
/**
 * Maximum bytes that one client may send in one tick, in addition to the bytes its backend has read. uSockets reads a
 * socket again while it fills the whole buffer of 512 KiB, even if it is paused; only closing it stops that.
 */
const CLIENT_TICK_BYTES = 12 * MIB
/** Clients that have sent nothing for this time are not paused. */
const IDLE_MS = 10_000

const shares = new Set<TickShare>()
let tick = -1
let tickBytes = 0
let arePaused = false

/** Counts the bytes that a client sends within an event loop tick faster than its backend reads them. */
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
   * Counts a message. Pauses the other clients until the end of the tick if all clients together have sent too much.
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
    // A tick may receive the end of a message and the next message, each up to the limit of the listener.
    return this.#bytes > CLIENT_TICK_BYTES + readBytes + 2 * bytes
  }

  /** Must be called when the client is closed. */
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
