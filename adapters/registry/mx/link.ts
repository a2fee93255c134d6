import type { TokenSource } from '../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Channel } from '../../../core/rpc/ws/channel.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { canRetryWithToken, formatToken, WatchCall } from './calls.ts'

export interface LinkOptions {
  readonly channel: Channel
  /** Timeout for opening a watch in milliseconds. */
  readonly timeoutMs: number
  /**
   * Credentials for the watch. After a rejection, the link waits for the next token.
   *
   * @default anonymous
   */
  readonly tokens?: TokenSource | undefined
  /** Whether opening a watch waits for a token. */
  readonly mustLogIn: boolean
  /**
   * Called when the watch has opened. `again` is true if an earlier one was lost or failed. The
   * owner calls {@link Link.caughtUp} once it is synchronized.
   */
  readonly onOpen: (again: boolean) => void
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void
  /**
   * Called with the reason when the watch is lost, and with undefined when it is open and
   * synchronized again.
   */
  readonly onOutage: (reason: GatewayError | undefined) => void
}

/** Maintains one watch of the remote registry and detects outages. */
export interface Link {
  /** Sets the watch request and replaces the current watch; undefined closes it. */
  readonly setRequest: (request: object | undefined) => void
  /**
   * Settles when the requested watch has opened or failed, or immediately if none is requested.
   * Skips the remaining back-off.
   *
   * @throws {GatewayError} with the reason for the failure.
   */
  readonly opened: () => Promise<void>
  /** Called when the owner is synchronized. Ends an outage. */
  readonly caughtUp: () => void
  /** Reopens the watch because the owner could not synchronize. */
  readonly fail: (reason: GatewayError) => void
}

const RETRY = { minMs: 100, maxMs: 5000 }
/** Minimum lifetime of a watch after which the back-off is reset. */
const STABLE_MS = 5000

interface Opening {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: GatewayError) => void
}

export function createLink(options: LinkOptions): Link {
  const { channel, timeoutMs, tokens, mustLogIn, onOpen, onMessage, onOutage } = options
  let watchRequest: object | undefined
  let call: WatchCall | undefined
  /** Set while waiting for a token instead of running {@link call}. */
  let awaitingToken: object | undefined
  let isOpen = false
  /** Whether a watch has been lost or has failed since the last one opened. */
  let disconnected = false
  let isOut = false
  let openedMs = 0
  const backOff = createBackOff(RETRY)
  /** Timeout of the attempt, or end of the back-off. */
  let timer: NodeJS.Timeout | undefined
  let opening = createOpening()

  /** @param isRetry whether the previous attempt failed because of its token. */
  function attempt(isRetry = false): void {
    clearTimeout(timer)
    const token = tokens?.current()
    if (mustLogIn && !isRetry && tokens !== undefined && token === undefined)
      return retryWithToken(tokens)
    const next = new WatchCall(watchRequest!, {
      onOpen() {
        if (call === next) onWatchOpen()
      },
      onMessage(message) {
        if (call === next) onMessage(message)
      },
      onSettled(error) {
        if (call !== next) return
        if ((isOpen || !isRetry) && canRetryWithToken(tokens, token, error)) retryWithToken(tokens)
        else fail(error)
      },
    })
    next.metadata = formatToken(tokens)
    call = next
    startTimeout()
    channel.call(next)
  }

  /** Retries immediately with a different token, because an expired token is not an outage. */
  function retryWithToken(tokens: TokenSource): void {
    disconnected ||= isOpen
    drop()
    const waiting = {}
    awaitingToken = waiting
    startTimeout()
    Promise.resolve(tokens.ready()).then(
      () => {
        if (awaitingToken !== waiting) return
        awaitingToken = undefined
        attempt(true)
      },
      (error: unknown) => {
        if (awaitingToken === waiting) fail(GatewayError.from(error, 'registry'))
      },
    )
  }

  function startTimeout(): void {
    timer = setTimeout(() => {
      fail(new GatewayError('registry', 408, `the watch did not open within ${timeoutMs} ms`))
    }, timeoutMs).unref()
  }

  function onWatchOpen(): void {
    clearTimeout(timer)
    isOpen = true
    openedMs = performance.now()
    opening.resolve()
    const again = disconnected
    disconnected = false
    onOpen(again)
  }

  function fail(error: GatewayError): void {
    if (isOpen && performance.now() - openedMs > STABLE_MS) backOff.reset()
    drop()
    disconnected = true
    const { reject } = opening
    opening = createOpening()
    timer = setTimeout(attempt, backOff.next()).unref()
    reject(error)
    if (isOut) return
    isOut = true
    onOutage(error)
  }

  function endOutage(): void {
    if (isOut) onOutage(undefined)
    isOut = false
  }

  /** Ends the current attempt or watch. */
  function drop(): void {
    clearTimeout(timer)
    if (isOpen) opening = createOpening()
    isOpen = false
    awaitingToken = undefined
    const ended = call
    call = undefined
    ended?.cancel()
  }

  return {
    setRequest(request) {
      if (request === watchRequest) return
      watchRequest = request
      drop()
      if (request !== undefined) return attempt()
      backOff.reset()
      disconnected = false
      opening.resolve()
      opening = createOpening()
      endOutage()
    },

    opened() {
      if (watchRequest === undefined || isOpen) return Promise.resolve()
      if (call === undefined && awaitingToken === undefined) attempt()
      return opening.promise
    },

    caughtUp: endOutage,

    fail(reason) {
      if (isOpen) fail(reason)
    },
  }
}

function createOpening(): Opening {
  let resolve!: Opening['resolve']
  let reject!: Opening['reject']
  const promise = new Promise<void>((onOpen, onFail) => {
    resolve = onOpen
    reject = onFail
  })
  // Prevents an unhandled rejection if no caller awaits it.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
