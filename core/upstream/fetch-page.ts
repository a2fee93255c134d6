import type { HeaderList } from '../http/headers.ts'
import {
  type Attempts,
  beginAttempt,
  classifyFailure,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordStatus,
} from './attempts.ts'
import type { UpstreamCall, UpstreamFailure } from './call.ts'
import type { Http1Connection } from './http1/connection.ts'
import type { UpstreamNode } from './node/upstream-node.ts'
import type { Upstream } from './upstream.ts'

/** Pseudonym in the `Via` of requests for error pages (RFC 9110 §7.6.3). A gateway sends no error page to them. */
export const PAGE_FETCHER = 'mx-error-page'

export interface FetchPageOptions {
  /** Path that is valid in a request line. */
  readonly target: string
  /** Value of `Host`. */
  readonly host: string
  /** Timeout for connection and response. */
  readonly timeoutMs: number
  /** Maximum length of the body in bytes. */
  readonly maxBytes: number
}

export interface FetchedPage {
  readonly status: number
  readonly headers: HeaderList
  readonly body: Buffer
}

/**
 * Fetches a page from a service by GET, without client headers.
 *
 * @throws {Error} if no node responds in time or the page is too long.
 */
export function fetchPage(upstream: Upstream, request: FetchPageOptions): Promise<FetchedPage> {
  return new Promise((resolve, reject) => {
    new PageCall(upstream, request, resolve, reject).start()
  })
}

class PageCall implements UpstreamCall, Attempts {
  readonly method = 'GET'
  head = ''
  readonly bodyLength = 0
  readonly idempotent = true
  readonly timeouts = undefined
  readonly isPatient = false
  connection: Http1Connection | undefined = undefined
  isRepeat = false
  headAndBody = ''
  deadlineMs = 0
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  readonly routeName = ''
  readonly upstream: Upstream
  readonly #request: FetchPageOptions
  readonly #resolve: (page: FetchedPage) => void
  readonly #reject: (error: Error) => void
  readonly #timer: NodeJS.Timeout
  #status = 0
  #headers: HeaderList | undefined = undefined
  #chunks: Buffer[] = []
  #length = 0

  constructor(
    upstream: Upstream,
    request: FetchPageOptions,
    resolve: (page: FetchedPage) => void,
    reject: (error: Error) => void,
  ) {
    const { timeoutMs } = request
    this.upstream = upstream
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
    this.#timer = setTimeout(() => this.#cancel(`no response within ${timeoutMs} ms`), timeoutMs)
  }

  start(): void {
    const node = pickNode(this, undefined)
    if (node === undefined) return this.#fail(`no node of ${this.upstream.name} is available`)
    if (node.protocol !== 'http') return this.#fail(`${node.id} does not serve plain HTTP`)
    const { target, host } = this.#request
    this.head = `GET ${target} HTTP/1.1\r\nhost: ${node.hostHeader ?? host}\r\naccept: text/html, */*;q=0.5\r\nvia: 1.1 ${PAGE_FETCHER}\r\n\r\n`
    beginAttempt(this, node)
    node.pool.dispatch(this)
  }

  onReady(): void {}
  onUnsent(): void {}
  onBodyDrain(): void {}

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    this.onReplyHead(status, headers)
    if (this.onReplyBody(body)) this.onReplyEnd()
  }

  onReplyHead(status: number, headers: HeaderList): void {
    recordStatus(this, status)
    this.#status = status
    this.#headers = headers
  }

  onReplyBody(chunk: Uint8Array): boolean {
    this.#length += chunk.length
    const { maxBytes } = this.#request
    if (this.#length > maxBytes) this.#cancel(`the page exceeds ${maxBytes} bytes`)
    else this.#chunks.push(Buffer.from(chunk))
    return this.inFlight
  }

  onReplyEnd(): void {
    if (!this.inFlight) return
    endAttempt(this)
    clearTimeout(this.#timer)
    const body = Buffer.concat(this.#chunks)
    this.#resolve({ status: this.#status, headers: this.#headers!, body })
  }

  onFailure({ kind, detail, collateral }: UpstreamFailure): void {
    if (!this.inFlight) return
    const isReplying = this.#headers !== undefined
    const isStale = !isReplying && (this.connection?.served ?? 0) > 0
    const failure = classifyFailure(kind, isStale)
    recordFailure(this, failure, !collateral)
    endAttempt(this)
    this.connection = undefined
    if (!mayRetry(this, failure, !isReplying)) return this.#fail(detail)
    this.isRepeat = true
    this.start()
  }

  #cancel(reason: string): void {
    if (this.inFlight) {
      endAttempt(this)
      this.node!.pool.cancel(this)
    }
    this.#fail(reason)
  }

  #fail(reason: string): void {
    clearTimeout(this.#timer)
    this.#reject(new Error(reason))
  }
}
