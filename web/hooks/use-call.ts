import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallError } from '../rpc/call-error.ts'
import { connection, connectionId, type Stream } from '../rpc/caller.ts'
import { createRetryDelay } from '../state/retry-delay.ts'
import { session } from '../state/session.ts'

/** What came of a call. */
export interface CallState<T> {
  /** `loading` while it runs, also again: the value before stays. */
  readonly state: 'loading' | 'ready' | 'failed'
  readonly value: T | undefined
  readonly error: CallError | undefined
  readonly reload: () => void
}

/**
 * Calls as soon as the component is there, and again when a dependency changes, `reload` is called, or, after a failure that
 * passes, when the connection and the login are there. What is overtaken is cancelled.
 *
 * @param start begins the call; undefined: there is nothing to call yet.
 */
export function useCall<T>(
  start: (signal: AbortSignal) => Promise<T> | undefined,
  deps: readonly unknown[],
): CallState<T> {
  const [turn, setTurn] = useState(0)
  const [result, setResult] = useState<Omit<CallState<T>, 'reload'>>({
    state: 'loading',
    value: undefined,
    error: undefined,
  })
  const reload = useCallback(() => setTurn((n) => n + 1), [])
  const begunOn = useRef(0)
  useEffect(() => {
    begunOn.current = connectionId.peek()
    const controller = new AbortController()
    const { signal } = controller
    const settle = (change: Partial<CallState<T>>): void => {
      if (!signal.aborted) setResult((before) => ({ ...before, ...change }))
    }
    settle({ state: 'loading' })
    const started = start(signal)
    started?.then(
      (value) => settle({ state: 'ready', value, error: undefined }),
      (error) => settle({ state: 'failed', error: CallError.from(error) }),
    )
    return () => controller.abort()
  }, [...deps, turn])
  const { error } = result
  useReturn(error?.isPassing === true ? error : undefined, begunOn, reload)
  return { ...result, reload }
}

export interface WatchState {
  /** `stale`: what is shown may be old, and will be new again by itself. */
  readonly state: 'connecting' | 'live' | 'stale' | 'ended' | 'failed'
  readonly error: CallError | undefined
  readonly restart: () => void
}

export interface WatchOptions {
  /** Called before each start of the stream: forget what `apply` kept, where the stream tells all again. */
  readonly onStart?: () => void
  /** Called whenever the service has begun to tell, at first, too: what happened before was not told. */
  readonly onLive?: () => void
}

/** How a stream goes. */
interface Watched {
  /** Which one. */
  readonly run: object | undefined
  readonly state: WatchState['state']
  readonly error: CallError | undefined
}

/**
 * Follows a stream, and opens it again whenever the connection is there anew; a dependency that changes does so, too.
 *
 * @param open undefined: there is nothing to follow yet.
 * @param apply takes each message.
 */
export function useWatch<T>(
  open: () => Stream<T> | undefined,
  apply: (message: T) => void,
  deps: readonly unknown[],
  options: WatchOptions = {},
): WatchState {
  const [turn, setTurn] = useState(0)
  const restart = useCallback(() => setTurn((n) => n + 1), [])
  // Of the stream before nothing counts, but that it was lost.
  const run = useMemo(() => ({}), [...deps, turn])
  const [last, setLast] = useState<Watched>({ run, state: 'connecting', error: undefined })
  const { state, error } = last.run === run ? last : toBeginning(last)
  const latest = useRef({ apply, options })
  latest.current = { apply, options }
  const begunOn = useRef(0)
  useEffect(() => {
    begunOn.current = connectionId.peek()
    let over = false
    const stream = open()
    if (stream === undefined) return undefined
    latest.current.options.onStart?.()
    const finish = (state: WatchState['state'], error?: CallError): void => {
      if (!over) setLast({ run, state, error })
      over = true
    }
    stream.begun.then(() => {
      if (over) return
      setLast({ run, state: 'live', error: undefined })
      latest.current.options.onLive?.()
    }, ignore)
    const follow = async (): Promise<void> => {
      try {
        for await (const message of stream) {
          if (over) return
          latest.current.apply(message)
        }
        finish('ended')
      } catch (thrown) {
        const error = CallError.from(thrown)
        finish(error.isPassing ? 'stale' : 'failed', error)
      }
    }
    void follow()
    return () => {
      over = true
      stream.cancel()
    }
  }, [run])
  useReturn(state === 'stale' ? error : undefined, begunOn, restart)
  return { state, error, restart }
}

function toBeginning({ state }: Watched): Pick<WatchState, 'state' | 'error'> {
  return { state: state === 'stale' ? 'stale' : 'connecting', error: undefined }
}

function ignore(): void {}

/** Does it again after an error that passes, as soon as the page is connected and logged in: at once on another connection than `begunOn`. */
function useReturn(
  error: CallError | undefined,
  begunOn: { readonly current: number },
  again: () => void,
): void {
  const opened = connectionId.value
  const isBack = connection.value === 'open' && session.value !== null
  const delay = useRef(createRetryDelay()).current
  useEffect(() => {
    if (error === undefined || !isBack) return undefined
    const timer = setTimeout(again, delay(opened === begunOn.current))
    return () => clearTimeout(timer)
  }, [error, isBack, opened])
}
