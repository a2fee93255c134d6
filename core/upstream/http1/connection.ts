// One file, though long: reading and writing share the state of one connection.

import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { flushAtTickEnd } from '../../../lib/async/flush-on-tick.ts'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import { clock } from '../../../lib/time/coarse-clock.ts'
import type { FailureKind, UpstreamCall } from '../call.ts'
import { toConnectDetail } from '../connect-error.ts'
import { ChunkedDecoder } from './chunked.ts'
import { CHUNKED, createReplyHead, parseReplyHead, UNTIL_CLOSE } from './reply-head.ts'
import type { HeadMemory } from './reply-head-cache.ts'

/** How long a backend may take, milliseconds. Read anew each time: changed in place, it holds for open connections too. */
export interface Timeouts {
  /** For the connection, TLS handshake included. */
  connectMs: number
  /** From the end of the request to the head of the reply. */
  replyMs: number
  /** Between two pieces of a body, either way. */
  idleMs: number
}

export interface Http1Options {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Resolves the host name. @default the resolver of the system */
  readonly lookup?: LookupFunction | undefined
  /** Certificates to trust in place of the system's, PEM. */
  readonly ca?: string
  readonly timeouts: Timeouts
  /** Milliseconds an unused connection is kept, unless the backend announces less. */
  readonly keepAliveMs: number
  /** Milliseconds after which a connection takes no more calls, less up to a tenth by chance. @default unlimited */
  readonly maxAgeMs?: number
}

/** Who a connection belongs to: told when it can be used again, and when it is gone. */
export interface ConnectionOwner {
  /** What heads from this node look like; shared by its connections. */
  readonly memory: HeadMemory
  readonly onIdle: (connection: Http1Connection) => void
  readonly onClosed: (connection: Http1Connection) => void
  /** The backend closed a connection that had been idle for so long, whether a request had just been sent on it or not. */
  readonly onIdleClose: (idleMs: number) => void
  /** Gives back a call of a connection that ended before a byte of it was sent: it may go out on a new one, whatever its method. */
  readonly onUnsent: (call: UpstreamCall) => void
}

/** Most bytes of a reply head. */
const HEAD_MAX_BYTES = 64 * 1024
/** Most informational replies before the real one. */
const INFORMATIONAL_MAX = 16
/** Silence after which the kernel asks a backend's host whether it is still there. */
const KEEP_ALIVE_MS = 30_000
/** Where the head of a reply is looked for first. */
const HEAD_GUESS_BYTES = 4096
/** Most bytes of a body that goes out together with its head, at the end of the tick. */
const WHOLE_MAX_BYTES = 4096
/** Part of the maximum age by which connections differ: those of one moment do not end in one. */
const AGE_JITTER = 0.1
/** Most bytes of a reply read and thrown away to save a pipelined connection for the others. */
const DISCARD_MAX_BYTES = 256 * 1024

/**
 * Every connection reads into the same memory: a read is handled to its end
 * before the next one begins, and what must outlast it is copied.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(128 * 1024)
const READ_WORDS = new Float64Array(READ_BUFFER.buffer)
const NOTHING = Buffer.alloc(0)
/** Every connection reads its heads into the same one, too, and takes what it needs at once: thousands may be idle. */
const REPLY = createReplyHead()

/** Queued bytes that are offered to the kernel together. */
const BATCH_BYTES = 1024 * 1024

interface QueuedPiece {
  readonly bytes: Buffer
  /** To be returned once they are sent; undefined: left to the garbage collector. */
  readonly memory: Buffer | undefined
}

const HEAD = 0
const BODY_LENGTH = 1
const BODY_CHUNKED = 2
const BODY_UNTIL_CLOSE = 3

/**
 * One HTTP/1.1 connection to a backend (RFC 9112), plain or TLS.
 *
 * Replies are parsed strictly: a malformed one fails its call, and the connection
 * is never used again. Several calls may be under way when the pool pipelines.
 */
export class Http1Connection {
  /** Calls it has answered. */
  served = 0
  /** True from the first byte of a reply to the current call. */
  replying = false
  /** True once it must not take calls. */
  closed = false
  /** `clock.nowMs` since when it has been unused; 0: it has not been used yet. */
  idleSinceMs = 0
  /** `clock.nowMs` after which an unused connection is closed. */
  idleUntilMs = 0
  /** `clock.nowMs` from when on it takes no more calls. */
  readonly #untilMs: number
  /** How long it had been unused when the current call came; 0: it comes after another. */
  #idleMs = 0
  readonly #options: Http1Options
  readonly #timeouts: Timeouts
  readonly #owner: ConnectionOwner
  readonly #socket: Socket
  #connected = false
  /** Calls written and not yet answered, the current one first. */
  readonly #calls: UpstreamCall[] = []
  /** `clock.nowMs` by when the current phase must be over; 0: no limit. */
  #deadlineMs = 0
  #error: Error | undefined = undefined
  // Reading
  #state = HEAD
  #partial: Buffer = NOTHING
  #left = 0
  #decoder: ChunkedDecoder | undefined = undefined
  #informational = 0
  /** Of the reply read last. */
  #persistent = true
  #idleSeconds = 0
  #paused = false
  #ended = false
  /** The gateway closes it, not the backend. */
  #isOurs = false
  // Writing
  #out = ''
  /** Head of a request whose body follows: sent with its first piece. */
  #heldHead = ''
  /** The kernel has not taken all that was written. */
  #isSending = false
  /** {@link #kernelPending} when it was looked at last. */
  #pendingBytes = 0
  /** How many of the last calls are not written yet. */
  #unsent = 0
  #bodyLeft = 0
  /**
   * Pieces that wait for the kernel to take those written before. A stream of Node.js frees what it queues only after the current
   * tick, and uSockets may read hundreds of megabytes in one.
   */
  #queue: QueuedPiece[] = []
  #queuedBytes = 0

  constructor(options: Http1Options, owner: ConnectionOwner) {
    this.#options = options
    this.#timeouts = options.timeouts
    this.#owner = owner
    const { host, port, lookup } = options
    const common = {
      host,
      port,
      lookup,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length: number): boolean => {
          this.#read(length)
          return true
        },
      },
    }
    this.#deadlineMs = clock.nowMs + options.timeouts.connectMs
    this.#untilMs = toAgeLimit(options.maxAgeMs)
    if (options.secure) {
      const servername = isIP(host) === 0 ? { servername: host } : {}
      const trusted = options.ca === undefined ? {} : { ca: options.ca }
      const tls = { ...common, ...servername, ...trusted, ALPNProtocols: ['http/1.1'] }
      this.#socket = connectTls(tls)
      this.#socket.once('secureConnect', () => this.#open())
    } else {
      this.#socket = connectTcp(common)
      this.#socket.once('connect', () => this.#open())
    }
    this.#readAfterWriteError()
    this.#socket.on('error', (error) => {
      this.#error = error
      // Before the end of this tick, when requests are written to it.
      this.#gone()
    })
    this.#socket.on('end', () => {
      this.#ended = true
      if (this.#calls.length > this.#unsent) return
      this.#gone()
    })
    this.#socket.on('drain', () => this.#drained())
    this.#socket.on('close', () => this.#gone())
  }

  /** In the midst of a reply that may take its time: whoever queues behind it waits as long. */
  get streaming(): boolean {
    return this.#state !== HEAD
  }

  /** Bytes written that the kernel has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength + this.#queuedBytes
  }

  /** It has reached its maximum age. */
  get isOld(): boolean {
    return clock.nowMs >= this.#untilMs
  }

  /** Calls under way. */
  get load(): number {
    return this.#calls.length
  }

  /** Sends a call. Its body, if it has one, follows by {@link sendBody} once the call was told `onReady`. */
  send(call: UpstreamCall): void {
    call.connection = this
    call.deadlineMs = 0
    this.#unsent++
    if (this.#calls.push(call) === 1) {
      this.#idleMs = this.idleSinceMs === 0 ? 0 : clock.nowMs - this.idleSinceMs
      if (this.#connected) this.#limit(this.#timeouts.replyMs)
    }
    const whole = call.bodyLength === 0 ? call.head : call.whole
    if (whole !== '') {
      // Written at the end of this turn of the event loop: pipelined heads go out
      // in one write, and the system calls of all connections follow one another.
      if (this.#out === '') flushAtTickEnd(this)
      this.#out += whole
      return
    }
    this.#heldHead = call.head
    this.#bodyLeft = call.bodyLength
    if (this.#connected) this.#askForBody(call)
  }

  #askForBody(call: UpstreamCall): void {
    call.onReady()
    // Its body may come in this turn, too.
    if (this.#heldHead !== '' || this.#out !== '') flushAtTickEnd(this)
  }

  flush(): void {
    const out = this.#out + this.#heldHead
    // The body had come, or the connection is gone: then the calls have been given back.
    if (this.closed || out === '') return
    // The body is slow to come.
    if (this.#heldHead !== '') this.#deadlineMs = 0
    this.#out = ''
    this.#heldHead = ''
    this.#unsent = 0
    if (this.#queue.length > 0) this.#write(Buffer.from(out, 'latin1'), undefined)
    else if (!this.#socket.write(out, 'latin1')) this.#startSending()
  }

  /** Sends a piece of the current call's body; `chunk` may be reused after the call. False: wait for `onBodyDrain`. */
  sendBody(chunk: Uint8Array, last: boolean): boolean {
    if (this.closed) return true
    const chunked = this.#bodyLeft < 0
    const framing = chunked && chunk.length > 0 ? `${chunk.length.toString(16)}\r\n` : ''
    const head = this.#heldHead + framing
    const tail = chunked ? (chunk.length > 0 ? '\r\n' : '') + (last ? '0\r\n\r\n' : '') : ''
    if (last && this.#heldHead !== '' && chunk.length <= WHOLE_MAX_BYTES) {
      // Sent as a request without a body is, by `#askForBody`.
      const whole = head + latin1Slice.call(chunk) + tail
      this.#heldHead = ''
      this.#bodyLeft = 0
      this.#calls[0]!.whole = whole
      this.#out = whole
      return true
    }
    this.#heldHead = ''
    this.#unsent = 0
    const size = head.length + chunk.length + tail.length
    const memory = isPooled(size) ? acquireBuffer(size) : undefined
    const bytes = memory?.subarray(0, size) ?? Buffer.allocUnsafe(size)
    bytes.write(head, 0, 'latin1')
    bytes.set(chunk, head.length)
    bytes.write(tail, head.length + chunk.length, 'latin1')
    if (!chunked) this.#bodyLeft -= chunk.length
    if (last) this.#bodyLeft = 0
    const taken = this.#write(bytes, memory)
    if (this.unsentBytes > 0) this.#startSending()
    else this.#sent()
    return taken
  }

  /** Writes bytes behind those that are queued. False: wait for `drain`. */
  #write(bytes: Buffer, memory: Buffer | undefined): boolean {
    const socket = this.#socket
    if (socket.writableLength > 0 && socket.writableNeedDrain) {
      this.#queue.push({ bytes, memory })
      this.#queuedBytes += bytes.length
      return false
    }
    if (memory === undefined) return socket.write(bytes)
    // Called for a lost connection, too, when the kernel reads no more of it.
    return socket.write(bytes, () => releaseBuffer(memory))
  }

  #drained(): void {
    const queue = this.#queue
    const socket = this.#socket
    if (queue.length > 0) {
      let bytes = 0
      socket.cork()
      while (queue.length > 0 && bytes < BATCH_BYTES) {
        const piece = queue.shift()!
        bytes += piece.bytes.length
        socket.write(piece.bytes, () => {
          if (piece.memory !== undefined) releaseBuffer(piece.memory)
        })
      }
      this.#queuedBytes -= bytes
      socket.uncork()
      if (queue.length > 0 || socket.writableNeedDrain) return this.#startSending()
    }
    if (this.unsentBytes === 0) this.#sent()
    this.#calls[0]?.onBodyDrain()
  }

  /** The kernel has not taken all of the request: the backend, which is to read on, has the idle timeout for that. */
  #startSending(): void {
    this.#isSending = true
    this.#pendingBytes = this.#kernelPending()
    if (!this.#isReplying()) this.#deadlineMs = clock.nowMs + this.#timeouts.idleMs
  }

  /** For the pool's clock: whether the kernel has taken more of the request, or all of it. */
  #followSending(): void {
    if (this.unsentBytes === 0) return this.#sent()
    const pending = this.#kernelPending()
    if (pending !== this.#pendingBytes) this.#startSending()
  }

  /** The kernel has taken all there is of the request: now it is for the client to send on, or for the backend to reply. */
  #sent(): void {
    this.#isSending = false
    if (this.#isReplying()) return
    if (this.#bodyLeft === 0) this.#limit(this.#timeouts.replyMs)
    else this.#deadlineMs = 0
  }

  /** From the first byte of a reply on its own limits hold. */
  #isReplying(): boolean {
    return this.#calls.length === 0 || this.#state !== HEAD
  }

  /** Bytes of the write in progress; changes when the kernel takes some of it. */
  #kernelPending(): number {
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    return _handle?.writeQueueSize ?? this.#socket.writableLength
  }

  #dropQueue(): void {
    for (const { memory } of this.#queue) if (memory !== undefined) releaseBuffer(memory)
    this.#queue = []
    this.#queuedBytes = 0
  }

  /** Stops reading; what has been read is still delivered. */
  pause(): void {
    if (this.#paused || this.closed) return
    this.#paused = true
    this.#deadlineMs = 0
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused || this.closed) return
    this.#paused = false
    this.#limit(this.#timeouts.idleMs)
    this.#socket.resume()
  }

  /** Gives a call up. Alone on its connection it ends it, which tells the backend; among others its reply is thrown away. */
  cancel(call: UpstreamCall): void {
    const at = this.#calls.indexOf(call)
    if (at < 0) return
    if (this.#calls.length === 1) {
      this.#calls.length = 0
      this.destroy()
      return
    }
    this.#calls[at] = discard(call, this)
    if (at === 0) this.resume()
  }

  /** For the pool's clock: ends what has taken too long. */
  sweep(): void {
    if (this.closed) return
    if (this.#isSending) this.#followSending()
    if (this.#deadlineMs !== 0 && clock.nowMs > this.#deadlineMs) {
      if (this.#connected) this.#fail('timeout', 'the backend did not answer in time')
      else this.#fail('connect-timeout', 'no connection to the backend in time')
      return
    }
    // Behind a long reply the connection's own deadline does not apply. The reply timeout of a call starts when its bytes have left.
    const isSent = this.#connected && this.#unsent === 0 && this.unsentBytes === 0
    for (let i = 1; i < this.#calls.length; i++) {
      const call = this.#calls[i]!
      if (call.deadlineMs === 0) {
        if (isSent) call.deadlineMs = clock.nowMs + this.#timeouts.replyMs
        continue
      }
      if (clock.nowMs <= call.deadlineMs) continue
      this.#calls[i] = discard(call, this)
      const detail = 'the backend did not answer in time'
      call.onFailure({ kind: 'timeout', detail, collateral: true })
    }
    if (this.#calls.length === 0 && this.idleUntilMs !== 0 && clock.nowMs > this.idleUntilMs) {
      this.destroy()
    }
  }

  /** Closes the connection at once. Calls still under way fail. */
  destroy(): void {
    this.#isOurs = true
    this.#socket.destroy()
    this.#gone()
  }

  #open(): void {
    this.#connected = true
    const call = this.#calls[0]
    if (call === undefined) return
    this.#limit(this.#timeouts.replyMs)
    if (call.bodyLength !== 0 && call.whole === '') this.#askForBody(call)
  }

  /**
   * A backend may reply and close before it has read all of a request (RFC 9112 §9.5). Node.js would end a socket that cannot be written to,
   * and its unread bytes with it: it lives until those have been read, in the next round of the event loop.
   */
  #readAfterWriteError(): void {
    const socket = this.#socket
    const destroy = socket.destroy.bind(socket)
    socket.destroy = (error?: NodeJS.ErrnoException) => {
      if (error?.syscall !== 'write' || this.closed) return destroy(error)
      setImmediate(() => setImmediate(destroy, error))
      return socket
    }
  }

  /** The current call has so long for what comes next. */
  #limit(ms: number): void {
    this.#deadlineMs = this.#calls[0]?.isPatient === true ? 0 : clock.nowMs + ms
  }

  #gone(): void {
    if (this.closed) return
    const complete = this.#state === BODY_UNTIL_CLOSE && this.#ended && this.#error === undefined
    const kind = this.#connected ? 'closed' : 'connect'
    const detail = this.#error === undefined ? 'connection closed' : toConnectDetail(this.#error)
    this.#reportIdleClose()
    const [current, ...others] = this.#retire()
    if (complete) current?.onReplyEnd()
    else current?.onFailure({ kind, detail, collateral: false })
    this.#failAll(others, kind, complete || isAlive(current))
  }

  /** The backend closed it without a reply to what came after it had been idle, if anything did. */
  #reportIdleClose(): void {
    if (this.#isOurs || this.served === 0 || this.replying) return
    const isIdle = this.#calls.length <= this.#unsent
    const idleMs = isIdle ? clock.nowMs - this.idleSinceMs : this.#idleMs
    if (idleMs > 0) this.#owner.onIdleClose(idleMs)
  }

  /** Fails the current call; the connection is lost to the others too. */
  #fail(kind: FailureKind, detail: string): void {
    const [current, ...others] = this.#retire()
    current?.onFailure({ kind, detail, collateral: false })
    this.#failAll(others, this.#connected ? 'closed' : kind, isAlive(current))
  }

  /** @param blamed the backend has been blamed for the lost connection, or is not to be. */
  #failAll(calls: readonly UpstreamCall[], kind: FailureKind, blamed: boolean): void {
    this.replying = false
    let collateral = blamed
    for (const call of calls) {
      call.onFailure({ kind, detail: 'connection closed', collateral })
      collateral ||= isAlive(call)
    }
  }

  /** Takes the connection out of use; returns the calls that are lost with it. */
  #retire(): UpstreamCall[] {
    this.closed = true
    this.#socket.destroy()
    this.#dropQueue()
    const calls = this.#calls.splice(0)
    // Kept connections end at any time. Those of a fresh one are not given back: a backend
    // that accepts and closes would be asked for ever.
    const unsent = this.served > 0 ? calls.splice(Math.max(0, calls.length - this.#unsent)) : []
    this.#owner.onClosed(this)
    for (const call of unsent) {
      if (!isAlive(call)) continue
      call.connection = undefined
      call.onUnsent()
      this.#owner.onUnsent(call)
    }
    return calls
  }

  #read(length: number): void {
    if (this.closed) return
    let bytes = READ_BUFFER
    let to = length
    if (this.#partial.length > 0) {
      bytes = Buffer.concat([this.#partial, READ_BUFFER.subarray(0, length)])
      to = bytes.length
      this.#partial = NOTHING
    }
    let at = 0
    while (at < to && !this.closed) {
      if (this.#calls.length <= this.#unsent) {
        // Nobody has asked yet: the answer to a later request must never come from here.
        this.destroy()
        return
      }
      const next =
        this.#state === HEAD ? this.#readHead(bytes, at, to) : this.#readBody(bytes, at, to)
      if (next < 0) return
      at = next
    }
  }

  /** Offset behind the head and a body that came along whole; -1: more must come, or the connection failed. */
  #readHead(bytes: Buffer, at: number, to: number): number {
    const head = REPLY
    const words = bytes === READ_BUFFER ? READ_WORDS : undefined
    const known = this.#owner.memory.recall(bytes, words, at, to, head)
    this.replying = true
    const stop = known > 0 ? known : this.#parseHead(bytes, at, to)
    if (stop < 0) return -1
    const from = at + stop
    const { status, headers, length } = head
    this.#persistent = head.persistent
    this.#idleSeconds = head.idleSeconds
    if (status < 200) {
      // 100, 102 and 103 are for the gateway; nobody asked for an upgrade (RFC 9110 §15.2). None has a body (RFC 9112 §6.1): what one
      // announces would be read as the next head.
      const hasBody = length > 0 || length === CHUNKED
      if (status === 101 || hasBody || ++this.#informational > INFORMATIONAL_MAX) {
        this.#fail('malformed', `unexpected ${status} reply`)
        return -1
      }
      return from
    }
    this.#informational = 0
    const call = this.#calls[0]!
    if (call.method === 'HEAD' || status === 204 || status === 304) {
      // What a 204 announces may follow, and would be taken for the next reply.
      if (status === 204 && length !== 0 && length !== UNTIL_CLOSE) this.#persistent = false
      call.onReplyHead(status, headers, length >= 0 ? length : -1)
      this.#finish(true)
      return from
    }
    if (length >= 0 && length <= to - from) {
      call.onReply(status, headers, viewOf(bytes, from, length))
      this.#finish(false)
      return from + length
    }
    this.#limit(this.#timeouts.idleMs)
    // Of a host that is gone nothing else tells.
    if (call.isPatient) this.#socket.setKeepAlive(true, KEEP_ALIVE_MS)
    this.#left = length
    if (length === CHUNKED) {
      this.#state = BODY_CHUNKED
      this.#decoder = new ChunkedDecoder()
    } else if (length === UNTIL_CLOSE) {
      this.#state = BODY_UNTIL_CLOSE
      this.#persistent = false
    } else this.#state = BODY_LENGTH
    call.onReplyHead(status, headers, length >= 0 ? length : -1)
    return from
  }

  /** Length of the head at `at`; -1: more must come, or the connection failed. */
  #parseHead(bytes: Buffer, at: number, to: number): number {
    const head = REPLY
    const { memory } = this.#owner
    let text = bytes.toString('latin1', at, Math.min(to, at + HEAD_GUESS_BYTES))
    let stop = parseReplyHead(text, head, memory.lines)
    if (stop === 0 && to - at > HEAD_GUESS_BYTES) {
      text = bytes.toString('latin1', at, Math.min(to, at + HEAD_MAX_BYTES))
      stop = parseReplyHead(text, head, memory.lines)
    }
    if (typeof stop === 'string') {
      this.#fail('malformed', stop)
      return -1
    }
    if (stop === 0) {
      if (to - at >= HEAD_MAX_BYTES) {
        this.#fail('malformed', `reply head is longer than ${HEAD_MAX_BYTES} bytes`)
      } else if (!text.startsWith('HTTP/1.'.slice(0, text.length))) {
        this.#fail('malformed', 'reply is not HTTP/1.1')
      } else this.#partial = Buffer.from(bytes.subarray(at, to))
      return -1
    }
    memory.remember(bytes, at, stop, head)
    return stop
  }

  #readBody(bytes: Buffer, at: number, to: number): number {
    if (!this.#paused) this.#limit(this.#timeouts.idleMs)
    if (this.#state === BODY_CHUNKED) {
      const next = this.#decoder!.decode(bytes, at, to, this.#deliver)
      if (this.closed) return -1
      if (typeof next === 'string') {
        this.#fail('malformed', next)
        return -1
      }
      if (next >= 0) this.#finish(true)
      return next
    }
    const stop = this.#state === BODY_LENGTH ? Math.min(to, at + this.#left) : to
    this.#left -= stop - at
    this.#deliver(bytes.subarray(at, stop))
    if (this.#state === BODY_LENGTH && this.#left === 0 && !this.closed) this.#finish(true)
    return stop
  }

  readonly #deliver = (chunk: Uint8Array): void => {
    const call = this.#calls[0]
    if (call !== undefined && !this.closed && !call.onReplyBody(chunk)) this.pause()
  }

  /** The current call has its whole reply; `streamed`: it waits to be told. */
  #finish(streamed: boolean): void {
    this.#state = HEAD
    this.#decoder = undefined
    this.replying = false
    this.served++
    const call = this.#calls.shift()
    if (call === undefined) return
    // A reply that came before the end of the request leaves the rest of it without a reader.
    const requestSent =
      this.#bodyLeft === 0 &&
      this.#heldHead === '' &&
      (call.bodyLength === 0 || this.unsentBytes === 0)
    if (
      !this.#persistent ||
      !requestSent ||
      this.#ended ||
      (this.#calls.length === 0 && this.isOld)
    ) {
      const others = this.#retire()
      if (streamed) call.onReplyEnd()
      this.#failAll(others, 'closed', true)
      return
    }
    // The client may still be slow with the last piece; the next reply is not for it.
    this.resume()
    if (streamed) call.onReplyEnd()
    const idleSeconds = this.#idleSeconds
    if (this.#calls.length > 0) {
      if (this.unsentBytes > 0) this.#startSending()
      else this.#limit(this.#timeouts.replyMs)
    } else {
      this.#deadlineMs = 0
      const { keepAliveMs } = this.#options
      // A second less than the backend says, so that it is not the one who closes first.
      const keptMs =
        idleSeconds > 0 ? Math.min(keepAliveMs, idleSeconds * 1000 - 1000) : keepAliveMs
      this.idleSinceMs = clock.nowMs
      this.idleUntilMs = Math.min(clock.nowMs + keptMs, this.#untilMs)
    }
    this.#owner.onIdle(this)
  }
}

/** `clock.nowMs` when a connection that is opened now has its maximum age. */
export function toAgeLimit(maxAgeMs: number = Number.POSITIVE_INFINITY): number {
  return clock.nowMs + maxAgeMs * (1 - AGE_JITTER * Math.random())
}

/** The part of the read buffer that was last looked at as a whole body: replies of one kind lie in the same place. */
let lastView: Buffer = READ_BUFFER.subarray(0, 0)
let lastFrom = 0

function viewOf(bytes: Buffer, from: number, length: number): Buffer {
  if (bytes !== READ_BUFFER) return bytes.subarray(from, from + length)
  if (from !== lastFrom || length !== lastView.length) {
    lastView = READ_BUFFER.subarray(from, from + length)
    lastFrom = from
  }
  return lastView
}

const { latin1Slice } = Buffer.prototype

/** Whether somebody still waits for the reply to a call. */
function isAlive(call: UpstreamCall | undefined): boolean {
  return call !== undefined && call.head !== ''
}

/** Takes the place of a cancelled call: its reply still comes, and goes nowhere. Known by its empty head. */
function discard(call: UpstreamCall, connection: Http1Connection): UpstreamCall {
  let left = DISCARD_MAX_BYTES
  return {
    method: call.method,
    head: '',
    bodyLength: 0,
    isRepeat: false,
    whole: '',
    idempotent: true,
    isPatient: false,
    connection,
    deadlineMs: Number.POSITIVE_INFINITY,
    onReady: () => {},
    onUnsent: () => {},
    onBodyDrain: () => {},
    onReply: () => {},
    onReplyHead: () => {},
    onReplyBody: (chunk) => {
      left -= chunk.length
      if (left < 0) connection.destroy()
      return true
    },
    onReplyEnd: () => {},
    onFailure: () => {},
  }
}
