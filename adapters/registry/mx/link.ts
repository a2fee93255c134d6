import type { TokenSource } from '../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Channel } from '../../../core/rpc/ws/channel.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { formatToken, maySignAnew, WatchCall } from './calls.ts'

export interface LinkOptions {
  readonly channel: Channel
  /** Milliseconds a watch may take to begin. */
  readonly timeoutMs: number
  /** Whose watch it is; a token is waited for once it was refused without, or with another. @default nobody's */
  readonly tokens?: TokenSource | undefined
  /** Whether a watch waits until it is known whose it is. */
  readonly mustLogIn: boolean
  /** A watch stands; `again`: after one was lost, or failed to begin. Answered by {@link Link.caughtUp}. */
  readonly onOpen: (again: boolean) => void
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void
  /** Told with the reason when there is no watch any more, and with undefined when there is again, and what was missed is told. */
  readonly onOutage: (reason: GatewayError | undefined) => void
}

/** Keeps one watch of the remote registry standing: it is how a process learns that the registry went away, or came back. */
export interface Link {
  /** Watches by this request; undefined: not at all. One that stands by another request is replaced. */
  readonly want: (request: object | undefined) => void
  /**
   * Settles once the watch that is wanted stands, or cannot be had; at once where none is wanted. Tries now, where it would wait.
   *
   * @throws {GatewayError} why there is none.
   */
  readonly opened: () => Promise<void>
  /** What was missed has been told: an outage there may be is over. */
  readonly caughtUp: () => void
  /** What was read through the registry is no good: begins anew. */
  readonly fail: (reason: GatewayError) => void
}

const RETRY = { minMs: 100, maxMs: 5000 }
/** A watch that stood this long was a good one: the next back-off is short again. */
const GOOD_MS = 5000

/** Those who wait for a watch. */
interface Opening {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: GatewayError) => void
}

export function createLink(options: LinkOptions): Link {
  const { channel, timeoutMs, tokens, mustLogIn, onOpen, onMessage, onOutage } = options
  let wanted: object | undefined
  let call: WatchCall | undefined
  /** A token is waited for, in place of {@link call}. */
  let signing: object | undefined
  let isOpen = false
  /** One was lost, or failed to begin, since there was one. */
  let lost = false
  let isOut = false
  let openedMs = 0
  const backOff = createBackOff(RETRY)
  /** Of the attempt's time limit, or of the back-off. */
  let timer: NodeJS.Timeout | undefined
  let opening = createOpening()

  /** @param isAnew it was refused a moment ago, for its token. */
  function attempt(isAnew = false): void {
    clearTimeout(timer)
    const shown = tokens?.current()
    if (mustLogIn && !isAnew && tokens !== undefined && shown === undefined) return signAnew(tokens)
    const own = new WatchCall(wanted!, {
      onOpen() {
        if (call === own) arrive()
      },
      onMessage(message) {
        if (call === own) onMessage(message)
      },
      onSettled(error) {
        if (call !== own) return
        if ((isOpen || !isAnew) && maySignAnew(tokens, shown, error)) signAnew(tokens)
        else fail(error)
      },
    })
    own.metadata = formatToken(tokens)
    call = own
    limit()
    channel.call(own)
  }

  /** Tries at once with another token: one that ended with its token is no outage. */
  function signAnew(tokens: TokenSource): void {
    lost ||= isOpen
    drop()
    const own = {}
    signing = own
    limit()
    Promise.resolve(tokens.ready()).then(
      () => {
        if (signing !== own) return
        signing = undefined
        attempt(true)
      },
      (error: unknown) => {
        if (signing === own) fail(GatewayError.from(error, 'registry'))
      },
    )
  }

  function limit(): void {
    timer = setTimeout(() => {
      fail(new GatewayError('registry', 408, `no watch within ${timeoutMs} ms`))
    }, timeoutMs).unref()
  }

  function arrive(): void {
    clearTimeout(timer)
    isOpen = true
    openedMs = performance.now()
    opening.resolve()
    const again = lost
    lost = false
    onOpen(again)
  }

  function fail(error: GatewayError): void {
    if (isOpen && performance.now() - openedMs > GOOD_MS) backOff.reset()
    drop()
    lost = true
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

  /** Ends the attempt or the watch there is. */
  function drop(): void {
    clearTimeout(timer)
    if (isOpen) opening = createOpening()
    isOpen = false
    signing = undefined
    const ended = call
    call = undefined
    ended?.cancel()
  }

  return {
    want(request) {
      if (request === wanted) return
      wanted = request
      drop()
      if (request !== undefined) return attempt()
      backOff.reset()
      lost = false
      opening.resolve()
      opening = createOpening()
      endOutage()
    },

    opened() {
      if (wanted === undefined || isOpen) return Promise.resolve()
      if (call === undefined && signing === undefined) attempt()
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
  // Nobody may be waiting.
  promise.catch(() => {})
  return { promise, resolve, reject }
}
