import type { ReportFault } from '../chain.ts'
import type { Exchange } from '../exchange.ts'
import type { CompleteResponse, ResponseAction, ResponseObserver } from './complete-response.ts'
import { toHookFailure } from './hook-failure.ts'

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
