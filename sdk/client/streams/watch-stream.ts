import { isInvalidToken } from '../../../core/auth/policy/decision.ts'
import type { TokenSource } from '../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../core/errors.ts'
import { unavailable } from '../../errors.ts'
import { ClientClosedError } from '../client-closed.ts'
import type { CallStream } from './call-stream.ts'

export interface WatchOptions<W, E> {
  /** Starts the watch. */
  readonly open: () => CallStream<unknown, W>
  /** Service name for errors. */
  readonly service: string
  /** Converts a message to an event. */
  readonly toEvent: (message: W) => E
  /** Identity for the streams, which end when their token expires. @default anonymous */
  readonly tokens?: TokenSource | undefined
}

/** Delay before retrying to open the next stream. */
const RETRY_MS = 5000
const WATCH_ENDED = 'the service ended the watch: watch again and re-read the current state'
/** Minimum interval between two streams. */
const PAUSE_MS = 100

/**
 * Events of a watch, until the program leaves the loop or its client is closed. Any other end throws a 503 error,
 * including a graceful shutdown of the service and an expired token.
 *
 * Before the token expires, a second stream with a new token is opened and takes over. No event is missed, but some may
 * be duplicated.
 */
export function toWatchStream<W, E>(options: WatchOptions<W, E>): AsyncIterableIterator<E> {
  const { open, service, toEvent, tokens } = options
  /** Remaining lifetime of the last stream's token; 0 initially. */
  let remainingMs = 0
  const begin = () => {
    remainingMs = tokens?.remainingMs() ?? Number.POSITIVE_INFINITY
    return open()
  }
  /** Stream being read. */
  let stream = begin()
  /** Newest stream, which takes over when the current one is drained. */
  let newest = stream
  let timer: NodeJS.Timeout | undefined
  let hasBegun = false
  let hasEnded = false

  function renewIn(ms: number): void {
    if (hasEnded || ms === Number.POSITIVE_INFINITY) return
    timer = setTimeout(() => void renew(), Math.max(ms, PAUSE_MS)).unref()
  }

  /** Remaining lifetime of the current token, which may be newer than the stream's. */
  function toRemainingMs(): number {
    return remainingMs === 0 ? tokens!.remainingMs() : remainingMs
  }

  async function renew(): Promise<void> {
    const next = begin()
    try {
      await next.begun()
    } catch {
      // A persistent error is reported by the stream being read.
      next.cancel()
      return renewIn(RETRY_MS)
    }
    if (hasEnded) return next.cancel()
    newest.cancel()
    newest = next
    renewIn(toRemainingMs())
  }

  function end(): void {
    hasEnded = true
    clearTimeout(timer)
  }

  newest.begun().then(
    () => {
      hasBegun = true
      renewIn(toRemainingMs())
    },
    () => {},
  )
  return {
    async next() {
      while (!hasEnded) {
        try {
          const { done, value } = await stream.next()
          if (done !== true) return { done: false, value: toEvent(value) }
        } catch (error) {
          if (stream === newest) {
            end()
            // The service that owns the client is stopping.
            if (error instanceof ClientClosedError) break
            throw hasBegun && error instanceof GatewayError && isInvalidToken(error)
              ? unavailable(service, WATCH_ENDED, { cause: error })
              : error
          }
        }
        if (stream === newest && !hasEnded) {
          end()
          throw unavailable(service, WATCH_ENDED)
        }
        stream = newest
      }
      return { done: true, value: undefined }
    },

    async return() {
      end()
      newest.cancel()
      await stream.return()
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return this
    },
  }
}
