import { effect, type Signal, signal } from '@preact/signals'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { toField } from '../form/field.ts'
import { readSchema } from '../form/read-schema.ts'
import { adoptRequest, openRequest, type RequestEditor } from '../form/typed-request.ts'
import type { CallError } from '../rpc/call-error.ts'
import type { CallResponse } from '../rpc/caller.ts'
import { endedSession, session } from '../state/session.ts'
import { StreamLog } from './stream-log.ts'

/** Progress or result of a call. */
export type Outcome =
  | { readonly state: 'calling'; readonly cancel: () => void }
  | { readonly state: 'succeeded'; readonly response: CallResponse<unknown> }
  | { readonly state: 'failed'; readonly error: CallError; readonly tookMs: number }

/** Request input and result of an endpoint. Outlives its page, so that input is preserved across navigation. */
export interface CallState extends RequestEditor {
  /** Metadata, one `name: value` per line. */
  readonly metadata: Signal<string>
  /** Timeout in milliseconds; empty for the default. */
  readonly timeout: Signal<string>
  readonly outcome: Signal<Outcome | undefined>
  readonly stream: StreamLog
}

const callStates = new Map<string, { readonly schema: string; readonly callState: CallState }>()

// Input must be discarded on logout.
effect(() => {
  if (session.value === null && endedSession.value === null) callStates.clear()
})

/** @param owner namespace and id of the account, namespace of the call, and service. */
export function openCallState(owner: readonly string[], endpoint: Endpoint): CallState {
  const key = JSON.stringify([...owner, endpoint.name])
  const requestSchema = readSchema(endpoint, 'request')
  const schema = JSON.stringify(requestSchema)
  const previous = callStates.get(key)
  if (previous?.schema === schema) return previous.callState
  const callState: CallState = {
    ...openRequest(toField(requestSchema)),
    metadata: previous?.callState.metadata ?? signal(''),
    timeout: previous?.callState.timeout ?? signal(''),
    outcome: previous?.callState.outcome ?? signal(undefined),
    stream: previous?.callState.stream ?? new StreamLog(),
  }
  // The service was updated with a different schema.
  if (previous !== undefined) adoptRequest(callState, previous.callState)
  callStates.set(key, { schema, callState })
  return callState
}
