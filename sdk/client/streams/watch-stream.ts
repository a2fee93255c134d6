import { isInvalidToken } from '../../../core/auth/policy/decision.ts'
import type { TokenSource } from '../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../core/errors.ts'
import { unavailable } from '../../errors.ts'
import { ClientClosedError } from '../client-closed.ts'
import type { CallStream } from './call-stream.ts'

export interface WatchOptions<W, E> {
  /** Begins to watch. */
  readonly open: () => CallStream<unknown, W>
  /** For errors. */
  readonly service: string
  /** What the program is told of a message. */
  readonly toEvent: (message: W) => E
  /** Whom the streams are opened as: a stream ends with its token. @default nobody */
  readonly tokens?: TokenSource | undefined
}

/** Of an attempt to open the next stream that failed, until another. */
const RETRY_MS = 5000
const AGAIN = 'the service ended the watch: watch again, and read what is there'
/** From one stream to the next at least. */
const PAUSE_MS = 100

/**
 * What a watch tells, until the program leaves it or its client is closed: another end that the program did not ask for is an error, 503, also where a
 * service that is being stopped lets it end in order, and where its token is good for nothing any more.
 *
 * Before the token of its stream ends another stream is opened with the next one, and takes over: nothing is missed, and what
 * happens meanwhile may be told by both.
 */
export function toWatchStream<W, E>(options: WatchOptions<W, E>): AsyncIterableIterator<E> {
  const { open, service, toEvent, tokens } = options
  /** Of the token the last stream was opened with; 0: there was none yet. */
  let leftMs = 0
  const begin = () => {
    leftMs = tokens?.leftMs() ?? Number.POSITIVE_INFINITY
    return open()
  }
  /** That is read. */
  let stream = begin()
  /** That is open: another one takes over from the one that is read once that has told what it has. */
  let newest = stream
  let timer: NodeJS.Timeout | undefined
  let hasBegun = false
  let isOver = false

  function renewIn(ms: number): void {
    if (isOver || ms === Number.POSITIVE_INFINITY) return
    timer = setTimeout(() => void renew(), Math.max(ms, PAUSE_MS)).unref()
  }

  /** By now there may be another token than that which was shown. */
  function toLeft(): number {
    return leftMs === 0 ? tokens!.leftMs() : leftMs
  }

  async function renew(): Promise<void> {
    const next = begin()
    try {
      await next.begun()
    } catch {
      // The one that is read tells the program, should this go on.
      next.cancel()
      return renewIn(RETRY_MS)
    }
    if (isOver) return next.cancel()
    newest.cancel()
    newest = next
    renewIn(toLeft())
  }

  function end(): void {
    isOver = true
    clearTimeout(timer)
  }

  newest.begun().then(
    () => {
      hasBegun = true
      renewIn(toLeft())
    },
    () => {},
  )
  return {
    async next() {
      while (!isOver) {
        try {
          const { done, value } = await stream.next()
          if (done !== true) return { done: false, value: toEvent(value) }
        } catch (error) {
          if (stream === newest) {
            end()
            // The service that watches stops.
            if (error instanceof ClientClosedError) break
            throw hasBegun && error instanceof GatewayError && isInvalidToken(error)
              ? unavailable(service, AGAIN, { cause: error })
              : error
          }
        }
        if (stream === newest && !isOver) {
          end()
          throw unavailable(service, AGAIN)
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
