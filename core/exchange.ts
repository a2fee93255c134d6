// A single long file: an exchange is one object with one hidden class, and its methods share private fields.

import { inspect } from 'node:util'
import {
  type Chain,
  findErrorPage,
  type ReportFault,
  runDoneHooks,
  runErrorHooks,
} from './chain.ts'
import { type ErrorPage, GATEWAY_ID, type GatewayError } from './errors.ts'
import { isFinalStatus } from './http/final-status.ts'
import { HeaderList } from './http/headers.ts'
import { mayWait, rejectResponse, replyMemory } from './limits/memory-budget.ts'
import { countBuffered } from './limits/request-buffers.ts'
import type { AcceptOptions, ServerSocket, SocketReceiver } from './listener/websocket/session.ts'
import type { TunnelTarget } from './listener/websocket/tunnel-target.ts'
import { compileChain } from './plugin/compile-chain.ts'
import { type CompleteResponse, isCompleteResponse } from './reply/complete-response.ts'
import { toHookFailure } from './reply/hook-failure.ts'
import { ReplyBodyChanger } from './reply/reply-body-changer.ts'
import { toErrorResponse } from './request/error-response.ts'
import { RoutedRequest } from './request/routed-request.ts'
import type { ErrorReply } from './rpc/grpc/error-reply.ts'

const NO_CHAIN = compileChain(
  [],
  () => {},
  () => {},
)
const NO_HEADERS = new HeaderList()
/** Close code of a WebSocket whose access was revoked (RFC 6455 §7.4.2, private use). */
const REVOKED = 4401
const EMPTY = new Uint8Array(0)

/**
 * A request and its response, shared by every stage. Start reading the code here.
 *
 * A listener builds a subclass and passes it to the gateway. The constructor sets every field, so that all exchanges of
 * a listener have the same shape. `#` fields would prevent inlining (docs/decisions/2026-11-22-fields-are-assigned.md).
 */
export abstract class Exchange extends RoutedRequest {
  /** The chain that serves the request: the current one at its arrival. */
  chain: Chain = NO_CHAIN
  /** Index in `chain.steps` of the stage that threw or is pending; -1 if none yet. */
  step = -1
  /** True once a response began or the client disconnected: the rest of the chain is skipped. */
  answered = false
  /** True once the last byte was sent or the client disconnected. */
  finished = false
  /** True if the exchange ended before its response was complete. */
  aborted = false
  /** Whether the response is streamed or a WebSocket; set before `onReply`. */
  streaming = false
  /** Response status; 0 before the response. Plugins may change it in `onReply`. */
  status = 0
  /** gRPC status sent to a gRPC or Connect client; -1 if none. */
  rpcStatus = -1
  /** Response headers. Plugins change them in `onReply`. */
  replyHeaders: HeaderList = NO_HEADERS
  /** Body bytes sent. */
  bytesOut = 0
  /** Whether the client's connection closes after this response. */
  protected closing = false
  private onFinish: ((x: Exchange) => void) | undefined = undefined
  private onFault: ReportFault | undefined = undefined
  /** Bytes counted in `replyMemory`. */
  private waitingBytes = 0
  /** Error that is sent once its page is known. */
  private pendingError: ErrorReply | undefined = undefined
  /** Set by the first response if plugins observe or change it. */
  private bodyChanger: ReplyBodyChanger | undefined = undefined

  // Explicit: otherwise the compiler passes `...arguments`, which V8 does not inline.
  constructor(
    method: string,
    path: string,
    query: string,
    host: string,
    headers: HeaderList,
    secure: boolean,
    bodyLength: number,
    upgrade: boolean,
  ) {
    super(method, path, query, host, headers, secure, bodyLength, upgrade)
  }

  /** Assigns the chain that serves the exchange. Called once, by the gateway. */
  begin(chain: Chain, onFinish: (x: Exchange) => void, onFault: ReportFault): void {
    this.chain = chain
    this.onFinish = onFinish
    this.onFault = onFault
  }

  // --- response ---

  /**
   * Sends a complete response. Ignored after the first response.
   *
   * @throws {TypeError} when a header name or value is malformed.
   */
  reply(status: number, body: string | Uint8Array = EMPTY, headers: readonly string[] = []): void {
    const list = new HeaderList(headers)
    if (typeof body === 'string' && body !== '' && !list.has('content-type')) {
      list.append('content-type', 'text/plain; charset=utf-8')
    }
    this.send(status, list, body)
  }

  /** Sends an error with its `{Id, Code, Detail, Status}` body. Ignored after the first response. */
  fail(error: GatewayError): void {
    if (this.answered) return
    const response = toErrorResponse(error, this.headers, this.httpVersion === '2')
    this.rpcStatus = response.rpcStatus
    this.answered = true
    this.pendingError = response
    if (response.rpcStatus >= 0 || this.chain.onError.length === 0) this.sendError(undefined)
    else findErrorPage(this.chain, this, error, this.onFault, (page) => this.sendError(page))
  }

  private sendError(page: ErrorPage | CompleteResponse | undefined): void {
    const error = this.pendingError
    this.pendingError = undefined
    if (error === undefined || this.finished) return
    if (isCompleteResponse(page)) {
      this.answered = false
      return this.send(page.status, page.headers, page.body)
    }
    if (page !== undefined) error.headers.set('content-type', page.contentType)
    if (this.beginReply(error.status, error.headers)) this.transmit(page?.body ?? error.body)
  }

  /**
   * Calls {@link fail} and closes the connection, for requests that may smuggle another request. HTTP/2 connections
   * stay open.
   */
  failAndClose(error: GatewayError): void {
    this.closing = true
    this.fail(error)
  }

  /**
   * Like {@link reply}, with a header list whose ownership passes to the exchange. A long body beyond the memory limit
   * of slow clients becomes a 503.
   */
  send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    if (this.answered) return
    if (this.chain.changesReplies && this.bodyChanger === undefined)
      return this.openBodyChanger().send(status, headers, body)
    if (!mayWait(body)) return this.fail(rejectResponse(this.route?.service ?? GATEWAY_ID))
    if (this.beginReply(status, headers)) this.transmit(body)
  }

  /**
   * Begins a streamed response; {@link write} and {@link end} follow.
   *
   * @param status 200 to 599. Other values, including one set by an `onReply` hook, become a 500.
   * @param length exact number of body bytes, even for HEAD and 304, which send no body; -1 if unknown.
   */
  start(status: number, headers: HeaderList, length: number): void {
    if (this.chain.changesReplies && this.bodyChanger === undefined)
      return this.openBodyChanger().start(status, headers, length)
    this.stream(status, headers, length, false)
  }

  /** For listeners: begins the 101 of a WebSocket handshake (RFC 9110 §15.2.2). No other method sends a 101. */
  protected startWebSocket(headers: HeaderList): void {
    this.stream(101, headers, -1, true)
  }

  /**
   * Sends a chunk of a started response. `chunk` may be reused after the call. Returns false if the caller must wait
   * for the peer's `onDrain`.
   */
  write(chunk: Uint8Array): boolean {
    this.bodyChanger?.observe(chunk)
    if (!this.streaming || this.finished) return this.bodyChanger?.collect(chunk) ?? true
    return this.bodyChanger?.stream?.write(chunk) ?? this.writeToClient(chunk)
  }

  private writeToClient(chunk: Uint8Array): boolean {
    this.bytesOut += chunk.length
    return this.transmitChunk(chunk)
  }

  /** Ends a started response. Trailers are sent over HTTP/2 and omitted over HTTP/1.1 (RFC 9110 §6.5.1). */
  end(trailers?: HeaderList): void {
    this.bodyChanger?.complete()
    if (!this.streaming || this.finished) this.bodyChanger?.end()
    else if (this.bodyChanger?.stream !== undefined) this.bodyChanger.stream.end(trailers)
    else this.transmitEnd(trailers)
  }

  /**
   * Ends the exchange after a failure. Sends an error if no response has begun; otherwise closes the connection, so
   * that the client detects the incomplete response.
   */
  abortWith(error: GatewayError): void {
    if (this.finished) return
    this.bodyChanger?.stop()
    if (this.answered) {
      if (this.pendingError !== undefined) this.sendError(undefined)
      else if (this.isHeadPending) {
        this.closing ||= !this.bodyDone
        this.replaceReply(error)
      } else this.closeConnection()
    } else {
      this.closing ||= !this.bodyDone
      this.fail(error)
    }
    this.dropPeer()
  }

  /**
   * Ends the exchange because its client lost access, like {@link abortWith}. In addition, a service stream ends with the
   * error, and a WebSocket closes with 4401.
   */
  revoke(error: GatewayError): void {
    if (this.finished) return
    const peer = this.peer
    if (this.status === 101) this.closeConnection(REVOKED, 'Unauthorized')
    else if (this.streaming && peer?.onRevoke !== undefined) peer.onRevoke(error)
    else this.abortWith(error)
  }

  /**
   * Proxies the client's WebSocket to a backend. Rejects, before anything is sent to the client, while another node may
   * be tried.
   */
  abstract tunnel(target: TunnelTarget): Promise<void>

  /**
   * Accepts the client's WebSocket in this process. The exchange ends with the WebSocket; both count message bytes.
   * Returns undefined without calling anything after the first response, or if an `onReply` hook failed and its error
   * was sent.
   *
   * @throws {GatewayError} 426 if the client requests no WebSocket, 503 if the gateway shuts down; nothing was sent
   * then.
   * @throws {TypeError} if the subprotocol is not a token.
   */
  abstract accept(receiver: SocketReceiver, options?: AcceptOptions): ServerSocket | undefined

  /** For listeners: counts response bytes waiting for the client until the exchange ends. */
  protected awaitClient(bytes: number): void {
    replyMemory.usedBytes += bytes
    this.waitingBytes += bytes
  }

  private releaseWaiting(): void {
    if (this.waitingBytes === 0) return
    replyMemory.usedBytes -= this.waitingBytes
    this.waitingBytes = 0
  }

  /** For listeners: the response is complete, or cannot be completed. */
  protected finish(): void {
    if (this.finished) return
    this.finished = true
    this.dropQueue()
    if (this.bufferedBytes > 0) countBuffered(this, 0)
    this.bodyChanger?.release()
    this.releaseWaiting()
    runDoneHooks(this.chain, this, this.onFault)
    this.onFinish?.(this)
  }

  /** For listeners: the client disconnected. */
  protected abort(): void {
    if (this.finished) return
    this.aborted = true
    this.answered = true
    this.dropPeer()
    this.finish()
  }

  /** For listeners: the client can receive more. */
  protected drained(): void {
    const stream = this.bodyChanger?.stream
    if (stream !== undefined) stream.resume()
    else this.peer?.onDrain()
  }

  /** Sends head and body together; sets only framing headers. `body` is valid during the call only. */
  protected abstract transmit(body: string | Uint8Array): void
  protected abstract transmitHead(length: number): void
  /** `chunk` is valid during the call only. */
  protected abstract transmitChunk(chunk: Uint8Array): boolean
  protected abstract transmitEnd(trailers?: HeaderList): void
  /** Immediately closes the client's connection, a WebSocket with `code` (default 1011). Calls {@link abort}. */
  protected abstract closeConnection(code?: number, reason?: string): void

  /** Whether a response has begun but none of it was sent, in which case {@link abortWith} sends its error. */
  protected get isHeadPending(): boolean {
    return false
  }

  private openBodyChanger(): ReplyBodyChanger {
    const output = {
      write: (chunk: Uint8Array) => this.writeToClient(chunk),
      end: (trailers: HeaderList | undefined) => this.transmitEnd(trailers),
      onDrain: () => this.peer?.onDrain(),
      onReplaced: () => this.dropPeer(),
    }
    this.bodyChanger = new ReplyBodyChanger(this, output, this.onFault)
    return this.bodyChanger
  }

  private stream(status: number, headers: HeaderList, length: number, isHandshake: boolean): void {
    if (this.answered) return
    this.streaming = true
    if (this.beginReply(status, headers, isHandshake)) this.transmitHead(length)
    else this.streaming = false
  }

  /**
   * Runs `onReply` and checks the status, for every gateway response. Returns false if a hook threw or the status is
   * invalid, and a 500 was sent instead.
   */
  private beginReply(status: number, headers: HeaderList, isHandshake = false): boolean {
    this.answered = true
    this.status = status
    this.replyHeaders = headers
    if (!this.bodyDone) this.closing = true
    const hooks = this.chain.onReply
    let i = 0
    try {
      for (; i < hooks.length; i++) hooks[i]!(this)
      if (isFinalStatus(this.status) || (isHandshake && this.status === 101)) return true
      throw new TypeError(`status must be an integer from 200 to 599, got ${inspect(this.status)}`)
    } catch (error) {
      const stage = this.chain.stages.onReply[i]
      this.replaceReply(toHookFailure(this, stage, error, this.onFault), i)
      this.dropPeer()
      return false
    }
  }

  /**
   * Sends an error instead of a response of which nothing was sent. The `onReply` hooks run for it because errors also
   * need the request id, CORS and security headers.
   *
   * @param failedHook index of the hook to skip; -1 if none.
   */
  private replaceReply(failure: GatewayError, failedHook: number = -1): void {
    // Without the headers of the error: a malformed header would throw here, where nothing catches it.
    const response = toErrorResponse(failure, this.headers, this.httpVersion === '2', [])
    const { status } = response
    this.rpcStatus = response.rpcStatus
    this.streaming = false
    this.status = status
    this.replyHeaders = response.headers
    runErrorHooks(this.chain, this, failedHook, this.onFault)
    this.status = status
    this.transmit(response.body)
  }
}
