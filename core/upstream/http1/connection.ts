// A single long file: reading and writing share the state of a connection.

import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { flushAtTickEnd } from '../../../lib/async/flush-on-tick.ts'
import { acquireBuffer, isPooled, releaseBuffer } from '../../../lib/io/buffer-pool.ts'
import { clock, toDeadline } from '../../../lib/time/coarse-clock.ts'
import type { FailureKind, UpstreamCall } from '../call.ts'
import { toConnectDetail } from '../connect-error.ts'
import { toAgeLimit } from '../max-age.ts'
import { toTlsOptions } from '../tls.ts'
import { ChunkedDecoder } from './chunked.ts'
import type { ConnectionOwner, Http1Options, Timeouts } from './connection-options.ts'
import { discard, isAlive } from './discarded-call.ts'
import { READ_BUFFER, READ_WORDS, viewOf } from './read-buffer.ts'
import { CHUNKED, createReplyHead, parseReplyHead, UNTIL_CLOSE } from './reply-head.ts'
import { SendQueue } from './send-queue.ts'

/** Maximum size of a response head in bytes. */
const HEAD_MAX_BYTES = 64 * 1024
/** Maximum number of informational responses before the final one. */
const INFORMATIONAL_MAX = 16
/** TCP keep-alive delay in milliseconds. */
const KEEP_ALIVE_MS = 30_000
/** Window of the first search for the end of a head. */
const HEAD_GUESS_BYTES = 4096
/** Maximum size of a body that is sent together with its head at the end of the tick, in bytes. */
const WHOLE_MAX_BYTES = 4096
const NOTHING = Buffer.alloc(0)
/** Shared by all connections, since thousands may be idle; required values are copied immediately. */
const REPLY = createReplyHead()

const HEAD = 0
const BODY_LENGTH = 1
const BODY_CHUNKED = 2
const BODY_UNTIL_CLOSE = 3

/**
 * An HTTP/1.1 connection to a backend (RFC 9112), plain or TLS.
 *
 * Responses are parsed strictly: a malformed response fails its call, and the connection is not reused. With
 * pipelining, several calls may be in flight.
 */
export class Http1Connection {
  /** Number of completed calls. */
  served = 0
  /** Whether a response to the current call has started. */
  replying = false
  /** Whether the connection accepts no more calls. */
  closed = false
  /** `clock.nowMs` since which the connection is unused; 0 if never used. */
  idleSinceMs = 0
  /** `clock.nowMs` at which an unused connection is closed. */
  idleUntilMs = 0
  /** `clock.nowMs` at which the connection stops accepting calls. */
  readonly #untilMs: number
  /** Idle time before the current call; 0 if it directly followed another. */
  #idleMs = 0
  readonly #options: Http1Options
  readonly #timeouts: Timeouts
  readonly #owner: ConnectionOwner
  readonly #socket: Socket
  #connected = false
  /** Calls without a complete response, starting with the current one. */
  readonly #calls: UpstreamCall[] = []
  /** Deadline of the current phase as `clock.nowMs`; 0 if none. */
  #deadlineMs = 0
  #error: Error | undefined = undefined
  // Reading
  #state = HEAD
  #partial: Buffer = NOTHING
  #left = 0
  #decoder: ChunkedDecoder | undefined = undefined
  #informational = 0
  /** Whether the last response allows reuse. */
  #persistent = true
  #idleSeconds = 0
  #paused = false
  #ended = false
  /** Whether the gateway, and not the backend, closes the connection. */
  #isClosedByGateway = false
  // Writing
  #pendingOutput = ''
  /** Head of a request with a body, which is sent with the first chunk. */
  #pendingHead = ''
  /** Whether the kernel has not yet accepted all written bytes. */
  #isSending = false
  /** Value of {@link #kernelPending} at the last check. */
  #pendingBytes = 0
  /** Number of calls at the end of the list that are not yet written. */
  #unsent = 0
  #bodyRemaining = 0
  readonly #queue = new SendQueue()

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
    this.#deadlineMs = toDeadline(options.timeouts.connectMs)
    this.#untilMs = toAgeLimit(options.maxAgeMs)
    if (options.secure) {
      const tls = toTlsOptions(options.tls, host)
      this.#socket = connectTls({ ...common, ...tls, ALPNProtocols: ['http/1.1'] })
      this.#socket.once('secureConnect', () => this.#open())
    } else {
      this.#socket = connectTcp(common)
      this.#socket.once('connect', () => this.#open())
    }
    this.#readAfterWriteError()
    this.#socket.on('error', (error) => {
      this.#error = error
      // Before the end of this tick, when requests are written to the connection.
      this.#onClosed()
    })
    this.#socket.on('end', () => {
      this.#ended = true
      if (this.#calls.length > this.#unsent) return
      this.#onClosed()
    })
    this.#socket.on('drain', () => this.#drained())
    this.#socket.on('close', () => this.#onClosed())
  }

  /** Whether a response without a time limit is in progress, which blocks queued calls. */
  get streaming(): boolean {
    return this.#state !== HEAD
  }

  /** Number of written bytes that the kernel has not yet accepted. */
  get unsentBytes(): number {
    return this.#socket.writableLength + this.#queue.bytes
  }

  /** Whether the connection has reached its maximum age. */
  get isOld(): boolean {
    return clock.nowMs >= this.#untilMs
  }

  /** Number of calls in flight. */
  get load(): number {
    return this.#calls.length
  }

  /** Sends a call. A body follows through {@link sendBody} after `onReady`. */
  send(call: UpstreamCall): void {
    call.connection = this
    call.deadlineMs = 0
    this.#unsent++
    if (this.#calls.push(call) === 1) {
      this.#idleMs = this.idleSinceMs === 0 ? 0 : clock.nowMs - this.idleSinceMs
      if (this.#connected) this.#limit(this.#replyMs)
    }
    const text = call.bodyLength === 0 ? call.head : call.headAndBody
    if (text !== '') {
      // Written at the end of this tick, so that pipelined heads are sent in one write and the system calls of all
      // connections are batched.
      if (this.#pendingOutput === '') flushAtTickEnd(this)
      this.#pendingOutput += text
      return
    }
    this.#pendingHead = call.head
    this.#bodyRemaining = call.bodyLength
    if (this.#connected) this.#requestBody(call)
  }

  #requestBody(call: UpstreamCall): void {
    call.onReady()
    // The body may also arrive in this tick.
    if (this.#pendingHead !== '' || this.#pendingOutput !== '') flushAtTickEnd(this)
  }

  flush(): void {
    const out = this.#pendingOutput + this.#pendingHead
    // The body has arrived, or the connection has ended and returned its calls.
    if (this.closed || out === '') return
    // Waiting for the client to send the body.
    if (this.#pendingHead !== '') this.#deadlineMs = 0
    this.#pendingOutput = ''
    this.#pendingHead = ''
    this.#unsent = 0
    if (!this.#queue.isEmpty) this.#write(Buffer.from(out, 'latin1'), undefined)
    else if (!this.#socket.write(out, 'latin1')) this.#startSending()
  }

  /**
   * Sends a chunk of the current call's body. `chunk` may be reused after the call.
   *
   * @returns false if the caller must wait for `onBodyDrain`.
   */
  sendBody(chunk: Uint8Array, last: boolean): boolean {
    if (this.closed) return true
    const chunked = this.#bodyRemaining < 0
    const framing = chunked && chunk.length > 0 ? `${chunk.length.toString(16)}\r\n` : ''
    const head = this.#pendingHead + framing
    const tail = chunked ? (chunk.length > 0 ? '\r\n' : '') + (last ? '0\r\n\r\n' : '') : ''
    if (last && this.#pendingHead !== '' && chunk.length <= WHOLE_MAX_BYTES) {
      // Sent like a request without a body, by `#requestBody`.
      const text = head + latin1Slice.call(chunk) + tail
      this.#pendingHead = ''
      this.#bodyRemaining = 0
      this.#calls[0]!.headAndBody = text
      this.#pendingOutput = text
      return true
    }
    this.#pendingHead = ''
    this.#unsent = 0
    const size = head.length + chunk.length + tail.length
    const memory = isPooled(size) ? acquireBuffer(size) : undefined
    const bytes = memory?.subarray(0, size) ?? Buffer.allocUnsafe(size)
    bytes.write(head, 0, 'latin1')
    bytes.set(chunk, head.length)
    bytes.write(tail, head.length + chunk.length, 'latin1')
    if (!chunked) this.#bodyRemaining -= chunk.length
    if (last) this.#bodyRemaining = 0
    const isAccepted = this.#write(bytes, memory)
    if (this.unsentBytes > 0) this.#startSending()
    else this.#sent()
    return isAccepted
  }

  /**
   * Writes bytes after the queued ones.
   *
   * @returns false if the caller must wait for `drain`.
   */
  #write(bytes: Buffer, memory: Buffer | undefined): boolean {
    const socket = this.#socket
    if (socket.writableLength > 0 && socket.writableNeedDrain) {
      this.#queue.push(bytes, memory)
      return false
    }
    if (memory === undefined) return socket.write(bytes)
    // Also called for a lost connection, when the kernel no longer reads the memory.
    return socket.write(bytes, () => releaseBuffer(memory))
  }

  #drained(): void {
    if (!this.#queue.isEmpty && !this.#queue.write(this.#socket)) return this.#startSending()
    if (this.unsentBytes === 0) this.#sent()
    this.#calls[0]?.onBodyDrain()
  }

  /** Starts the idle timeout, because the backend must keep reading the request. */
  #startSending(): void {
    this.#isSending = true
    this.#pendingBytes = this.#kernelPending()
    if (!this.#isReplying()) this.#deadlineMs = toDeadline(this.#pauseMs)
  }

  /** Called by the pool's sweep. Checks whether the kernel has accepted more of the request. */
  #followSending(): void {
    if (this.unsentBytes === 0) return this.#sent()
    const pending = this.#kernelPending()
    if (pending !== this.#pendingBytes) this.#startSending()
  }

  /** Called when the kernel has accepted the request so far. Waits for more from the client, or for the response. */
  #sent(): void {
    this.#isSending = false
    if (this.#isReplying()) return
    if (this.#bodyRemaining === 0) this.#limit(this.#replyMs)
    else this.#deadlineMs = 0
  }

  /** True after the first byte of a response, which has a separate timeout. */
  #isReplying(): boolean {
    return this.#calls.length === 0 || this.#state !== HEAD
  }

  /** Pending bytes of the write in progress; the number changes with progress. */
  #kernelPending(): number {
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    return _handle?.writeQueueSize ?? this.#socket.writableLength
  }

  /** Pauses reading. Data already read is still delivered. */
  pause(): void {
    if (this.#paused || this.closed) return
    this.#paused = true
    this.#deadlineMs = 0
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused || this.closed) return
    this.#paused = false
    this.#limit(this.#pauseMs)
    this.#socket.resume()
  }

  /**
   * Cancels a call. If it is the only call, its connection is closed, which notifies the backend. The response of a
   * pipelined call is discarded.
   */
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

  /** Called by the pool's sweep. Enforces timeouts. */
  sweep(): void {
    if (this.closed) return
    if (this.#isSending) this.#followSending()
    if (this.#deadlineMs !== 0 && clock.nowMs > this.#deadlineMs) {
      if (this.#connected) this.#fail('timeout', 'the backend did not respond in time')
      else this.#fail('connect-timeout', 'connecting to the backend timed out')
      return
    }
    // After a long response, the connection's own deadline does not apply. The response timeout of a call starts once
    // it has been sent.
    const isSent = this.#connected && this.#unsent === 0 && this.unsentBytes === 0
    for (let i = 1; i < this.#calls.length; i++) {
      const call = this.#calls[i]!
      if (call.deadlineMs === 0) {
        if (isSent) call.deadlineMs = toDeadline(call.timeouts?.replyMs ?? this.#timeouts.replyMs)
        continue
      }
      if (clock.nowMs <= call.deadlineMs) continue
      this.#calls[i] = discard(call, this)
      const detail = 'the backend did not respond in time'
      call.onFailure({ kind: 'timeout', detail, collateral: true })
    }
    if (this.#calls.length === 0 && this.idleUntilMs !== 0 && clock.nowMs > this.idleUntilMs) {
      this.destroy()
    }
  }

  /** Immediately closes the connection. Calls in flight fail. */
  destroy(): void {
    this.#isClosedByGateway = true
    this.#socket.destroy()
    this.#onClosed()
  }

  #open(): void {
    this.#connected = true
    const call = this.#calls[0]
    if (call === undefined) return
    this.#limit(this.#replyMs)
    if (call.bodyLength !== 0 && call.headAndBody === '') this.#requestBody(call)
  }

  /**
   * A backend may respond and close before it has read the complete request (RFC 9112 §9.5). After a write error,
   * Node.js would destroy the socket and lose unread bytes. Therefore it is destroyed in the next event loop tick,
   * after they have been read.
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

  /** Response timeout of the current call. */
  get #replyMs(): number {
    return this.#calls[0]?.timeouts?.replyMs ?? this.#timeouts.replyMs
  }

  /** Idle timeout of the current call. */
  get #pauseMs(): number {
    return this.#calls[0]?.timeouts?.idleMs ?? this.#timeouts.idleMs
  }

  /** Sets the deadline of the current phase. */
  #limit(ms: number): void {
    this.#deadlineMs = this.#calls[0]?.isPatient === true ? 0 : toDeadline(ms)
  }

  #onClosed(): void {
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

  /** Reports that the backend closed the connection after an idle time, without responding to a later request. */
  #reportIdleClose(): void {
    if (this.#isClosedByGateway || this.served === 0 || this.replying) return
    const isIdle = this.#calls.length <= this.#unsent
    const idleMs = isIdle ? clock.nowMs - this.idleSinceMs : this.#idleMs
    if (idleMs > 0) this.#owner.onIdleClose(idleMs)
  }

  /** Fails the current call and closes the connection. */
  #fail(kind: FailureKind, detail: string): void {
    const [current, ...others] = this.#retire()
    current?.onFailure({ kind, detail, collateral: false })
    this.#failAll(others, this.#connected ? 'closed' : kind, isAlive(current))
  }

  /** @param blamed whether the failure of the backend has already been counted or must not be counted. */
  #failAll(calls: readonly UpstreamCall[], kind: FailureKind, blamed: boolean): void {
    this.replying = false
    let collateral = blamed
    for (const call of calls) {
      call.onFailure({ kind, detail: 'connection closed', collateral })
      collateral ||= isAlive(call)
    }
  }

  /** Takes the connection out of use and returns the lost calls. */
  #retire(): UpstreamCall[] {
    this.closed = true
    this.#socket.destroy()
    this.#queue.clear()
    const calls = this.#calls.splice(0)
    // Keep-alive connections may end at any time. Calls of a new connection are not returned: with a backend that
    // accepts and closes connections, they would be retried forever.
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
        // An unsolicited response must not be matched to a later request.
        this.destroy()
        return
      }
      const next =
        this.#state === HEAD ? this.#readHead(bytes, at, to) : this.#readBody(bytes, at, to)
      if (next < 0) return
      at = next
    }
  }

  /** @returns the offset after the head and a complete body, or -1 if incomplete or if the connection failed. */
  #readHead(bytes: Buffer, at: number, to: number): number {
    const head = REPLY
    const words = bytes === READ_BUFFER ? READ_WORDS : undefined
    const known = this.#owner.memory.get(bytes, words, at, to, head)
    this.replying = true
    const stop = known > 0 ? known : this.#parseHead(bytes, at, to)
    if (stop < 0) return -1
    const from = at + stop
    const { status, headers, length } = head
    this.#persistent = head.persistent
    this.#idleSeconds = head.idleSeconds
    if (status < 200) {
      // 100, 102 and 103 are for the gateway; no upgrade was requested (RFC 9110 §15.2). None of them has a body
      // (RFC 9112 §6.1): an announced body would be parsed as the next head.
      const hasBody = length > 0 || length === CHUNKED
      if (status === 101 || hasBody || ++this.#informational > INFORMATIONAL_MAX) {
        this.#fail('malformed', `unexpected ${status} response`)
        return -1
      }
      return from
    }
    this.#informational = 0
    const call = this.#calls[0]!
    if (call.method === 'HEAD' || status === 204 || status === 304) {
      // A body after 204 would be parsed as the next response.
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
    this.#limit(this.#pauseMs)
    // The only way to detect a dead host.
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

  /** @returns the length of the head at `at`, or -1 if incomplete or if the connection failed. */
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
        this.#fail('malformed', `response head is longer than ${HEAD_MAX_BYTES} bytes`)
      } else if (!text.startsWith('HTTP/1.'.slice(0, text.length))) {
        this.#fail('malformed', 'response is not HTTP/1.1')
      } else this.#partial = Buffer.from(bytes.subarray(at, to))
      return -1
    }
    memory.set(bytes, at, stop, head)
    return stop
  }

  #readBody(bytes: Buffer, at: number, to: number): number {
    if (!this.#paused) this.#limit(this.#pauseMs)
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

  /** Ends the current call. `streamed`: whether the call must be notified. */
  #finish(streamed: boolean): void {
    this.#state = HEAD
    this.#decoder = undefined
    this.replying = false
    this.served++
    const call = this.#calls.shift()
    if (call === undefined) return
    // The response arrived before the end of the request, so the rest has no reader.
    const requestSent =
      this.#bodyRemaining === 0 &&
      this.#pendingHead === '' &&
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
    // The client may be slow to read the last chunk; the next response belongs to another call.
    this.resume()
    if (streamed) call.onReplyEnd()
    const idleSeconds = this.#idleSeconds
    if (this.#calls.length > 0) {
      if (this.unsentBytes > 0) this.#startSending()
      else this.#limit(this.#replyMs)
    } else {
      this.#deadlineMs = 0
      const { keepAliveMs } = this.#options
      // A second less than announced, so that the backend does not close first.
      const keepMs =
        idleSeconds > 0 ? Math.min(keepAliveMs, idleSeconds * 1000 - 1000) : keepAliveMs
      this.idleSinceMs = clock.nowMs
      this.idleUntilMs = Math.min(clock.nowMs + keepMs, this.#untilMs)
    }
    this.#owner.onIdle(this)
  }
}

const { latin1Slice } = Buffer.prototype
