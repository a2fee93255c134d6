import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallError } from '../rpc/call-error.ts'
import { connection, connectionId, type Stream } from '../rpc/caller.ts'
import { createRetryDelay } from '../state/retry-delay.ts'
import { session } from '../state/session.ts'

export interface CallState<T> {
  /** State of the call. `loading` includes reloads, which preserve the previous value. */
  readonly state: 'loading' | 'ready' | 'failed'
  readonly value: T | undefined
  readonly error: CallError | undefined
  readonly reload: () => void
}

/**
 * Makes a call on mount, when a dependency changes, on `reload`, and after a transient error as soon as the page is
 * connected and logged in. Superseded calls are cancelled.
 *
 * @param start starts the call; returns undefined if there is nothing to call yet.
 */
export function useCall<T>(
  start: (signal: AbortSignal) => Promise<T> | undefined,
  deps: readonly unknown[],
): CallState<T> {
  const [revision, setRevision] = useState(0)
  const [result, setResult] = useState<Omit<CallState<T>, 'reload'>>({
    state: 'loading',
    value: undefined,
    error: undefined,
  })
  const reload = useCallback(() => setRevision((n) => n + 1), [])
  const startedOn = useRef(0)
  useEffect(() => {
    startedOn.current = connectionId.peek()
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
  }, [...deps, revision])
  const { error } = result
  useRetry(error?.isPassing === true ? error : undefined, startedOn, reload)
  return { ...result, reload }
}

export interface WatchState {
  /** State of the stream. `stale` means interrupted; the stream resumes automatically. */
  readonly state: 'connecting' | 'live' | 'stale' | 'ended' | 'failed'
  readonly error: CallError | undefined
  readonly restart: () => void
}

export interface WatchOptions {
  /** Called before each start of the stream. Must reset state that the stream sends again. */
  readonly onStart?: () => void
  /** Called whenever the stream is established. Earlier changes were not received. */
  readonly onLive?: () => void
}

interface StreamStatus {
  /** Identifies the stream. */
  readonly run: object | undefined
  readonly state: WatchState['state']
  readonly error: CallError | undefined
}

/**
 * Subscribes to a stream, and reopens it after a reconnect or when a dependency changes.
 *
 * @param open opens the stream; returns undefined if there is nothing to subscribe to yet.
 * @param apply called with each message.
 */
export function useWatch<T>(
  open: () => Stream<T> | undefined,
  apply: (message: T) => void,
  deps: readonly unknown[],
  options: WatchOptions = {},
): WatchState {
  const [revision, setRevision] = useState(0)
  const restart = useCallback(() => setRevision((n) => n + 1), [])
  // The state of the previous stream is discarded, except that it was interrupted.
  const run = useMemo(() => ({}), [...deps, revision])
  const [last, setLast] = useState<StreamStatus>({ run, state: 'connecting', error: undefined })
  const { state, error } = last.run === run ? last : toInitial(last)
  const latest = useRef({ apply, options })
  latest.current = { apply, options }
  const startedOn = useRef(0)
  useEffect(() => {
    startedOn.current = connectionId.peek()
    let hasEnded = false
    const stream = open()
    if (stream === undefined) return undefined
    latest.current.options.onStart?.()
    const finish = (state: WatchState['state'], error?: CallError): void => {
      if (!hasEnded) setLast({ run, state, error })
      hasEnded = true
    }
    stream.begun.then(() => {
      if (hasEnded) return
      setLast({ run, state: 'live', error: undefined })
      latest.current.options.onLive?.()
    }, ignore)
    const follow = async (): Promise<void> => {
      try {
        for await (const message of stream) {
          if (hasEnded) return
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
      hasEnded = true
      stream.cancel()
    }
  }, [run])
  useRetry(state === 'stale' ? error : undefined, startedOn, restart)
  return { state, error, restart }
}

function toInitial({ state }: StreamStatus): Pick<WatchState, 'state' | 'error'> {
  return { state: state === 'stale' ? 'stale' : 'connecting', error: undefined }
}

function ignore(): void {}

/**
 * Retries after a transient error as soon as the page is connected and logged in: immediately on a
 * new connection, else with back-off.
 */
function useRetry(
  error: CallError | undefined,
  startedOn: { readonly current: number },
  retry: () => void,
): void {
  const opened = connectionId.value
  const isReady = connection.value === 'open' && session.value !== null
  const delay = useRef(createRetryDelay()).current
  useEffect(() => {
    if (error === undefined || !isReady) return undefined
    const timer = setTimeout(retry, delay(opened === startedOn.current))
    return () => clearTimeout(timer)
  }, [error, isReady, opened])
}
