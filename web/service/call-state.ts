import { effect, type Signal, signal } from '@preact/signals'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { toField } from '../form/field.ts'
import { readSchema } from '../form/read-schema.ts'
import { adoptRequest, openRequest, type TypedRequest } from '../form/typed-request.ts'
import type { CallError } from '../rpc/call-error.ts'
import type { Answer } from '../rpc/caller.ts'
import { endedSession, session } from '../state/session.ts'
import { StreamLog } from './stream-log.ts'

/** What came of a call. */
export type Outcome =
  | { readonly state: 'calling'; readonly cancel: () => void }
  | { readonly state: 'answered'; readonly answer: Answer<unknown> }
  | { readonly state: 'failed'; readonly error: CallError; readonly tookMs: number }

/** What is typed and answered for one endpoint. It outlives its page: nothing typed is lost by looking elsewhere. */
export interface CallState extends TypedRequest {
  /** Lines `name: value`. */
  readonly metadata: Signal<string>
  /** Milliseconds; empty: as usual. */
  readonly timeout: Signal<string>
  readonly outcome: Signal<Outcome | undefined>
  readonly stream: StreamLog
}

const sheets = new Map<string, { readonly schema: string; readonly sheet: CallState }>()

// Whoever logs out leaves nothing behind.
effect(() => {
  if (session.value === null && endedSession.value === null) sheets.clear()
})

/** @param owner whose it is: the namespace and id of the account, the namespace that is called, the service. */
export function openSheet(owner: readonly string[], endpoint: Endpoint): CallState {
  const key = JSON.stringify([...owner, endpoint.name])
  const given = readSchema(endpoint, 'request')
  const schema = JSON.stringify(given)
  const known = sheets.get(key)
  if (known?.schema === schema) return known.sheet
  const sheet: CallState = {
    ...openRequest(toField(given)),
    metadata: known?.sheet.metadata ?? signal(''),
    timeout: known?.sheet.timeout ?? signal(''),
    outcome: known?.sheet.outcome ?? signal(undefined),
    stream: known?.sheet.stream ?? new StreamLog(),
  }
  // Another version of the service.
  if (known !== undefined) adoptRequest(sheet, known.sheet)
  sheets.set(key, { schema, sheet })
  return sheet
}
