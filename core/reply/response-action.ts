import type { ReportFault } from '../chain.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { toHookFailure } from './hook-failure.ts'

/** Result of an `onResponse` hook. */
export type ResponseAction = ResponseObserver | CompleteResponse

/** Receives the body of a response as the backend sent it. */
export interface ResponseObserver {
  /** @param chunk valid during the call only. */
  readonly onChunk: (chunk: Uint8Array) => void
  /**
   * Called once.
   *
   * @param isComplete false if the backend failed or the client disconnected.
   */
  readonly onEnd: (isComplete: boolean) => void
}

/** A response that replaces another one of which nothing was sent. The header list passes to the exchange. */
export interface CompleteResponse {
  readonly status: number
  readonly headers: HeaderList
  readonly body: string | Uint8Array
}

/** Whether the result of an `onError` hook is a response instead of a body. */
export function isCompleteResponse(value: object | undefined): value is CompleteResponse {
  return (value as Partial<CompleteResponse> | undefined)?.status !== undefined
}

export interface ResponseActions {
  /** Undefined if no plugin observes the response. */
  readonly observer: ResponseObserver | undefined
  /** Replaces the response; undefined if it is sent. */
  readonly replacement: CompleteResponse | undefined
}

/**
 * Runs the `onResponse` hooks for a response with `x.status` and `x.replyHeaders`. A replaced response is passed to the
 * remaining hooks.
 *
 * @param length bytes of the body; -1 if unknown.
 * @throws {GatewayError} that replaces the response, after reporting an unexpected error.
 */
export function findResponseActions(
  x: Exchange,
  length: number,
  onFault: ReportFault | undefined,
): ResponseActions {
  const { onResponse, stages } = x.chain
  let observers: ResponseObserver[] = []
  let replacement: CompleteResponse | undefined
  let bytes = length
  for (let i = 0; i < onResponse.length; i++) {
    let action: ResponseAction | undefined
    try {
      action = onResponse[i]!(x, bytes)
    } catch (error) {
      for (const observer of observers) observer.onEnd(false)
      throw toHookFailure(x, stages.onResponse[i], error, onFault)
    }
    if (action === undefined) continue
    if ('onChunk' in action) {
      observers.push(action)
      continue
    }
    for (const observer of observers) observer.onEnd(false)
    observers = []
    replacement = action
    bytes = Buffer.byteLength(action.body)
    x.status = action.status
    x.replyHeaders = action.headers
  }
  return { observer: combine(observers), replacement }
}

function combine(observers: readonly ResponseObserver[]): ResponseObserver | undefined {
  if (observers.length < 2) return observers[0]
  return {
    onChunk(chunk) {
      for (const observer of observers) observer.onChunk(chunk)
    },
    onEnd(isComplete) {
      for (const observer of observers) observer.onEnd(isComplete)
    },
  }
}
