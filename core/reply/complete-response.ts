import type { HeaderList } from '../http/headers.ts'

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
