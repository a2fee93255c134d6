import { effect, type Signal, signal } from '@preact/signals'
import type { Endpoint } from '../../core/contracts/registry.ts'
import { schemaOf } from '../../sdk/endpoint-schema.ts'
import { type Draft, emptyDraft } from '../form/draft.ts'
import { type Field, toField } from '../form/field.ts'
import { fromRequest } from '../form/from-request.ts'
import { type Problem, parseRequest, type Request, ROOT, toRequest } from '../form/to-request.ts'
import type { CallError } from '../rpc/call-error.ts'
import type { Answer } from '../rpc/caller.ts'
import { endedSession, session } from '../session.ts'
import { StreamLog } from './stream-log.ts'

/** What came of a call. */
export type Outcome =
  | { readonly state: 'calling'; readonly cancel: () => void }
  | { readonly state: 'answered'; readonly answer: Answer<unknown> }
  | { readonly state: 'failed'; readonly error: CallError; readonly tookMs: number }

/** What is typed and answered for one endpoint. It outlives its page: nothing typed is lost by looking elsewhere. */
export interface CallSheet {
  readonly field: Field
  readonly draft: Signal<Draft>
  /** Whether the request is typed as JSON. */
  readonly isRaw: Signal<boolean>
  readonly raw: Signal<string>
  /** Lines `name: value`. */
  readonly metadata: Signal<string>
  /** Milliseconds; empty: as usual. */
  readonly timeout: Signal<string>
  readonly problems: Signal<readonly Problem[]>
  readonly outcome: Signal<Outcome | undefined>
  readonly stream: StreamLog
}

const sheets = new Map<string, { readonly schema: string; readonly sheet: CallSheet }>()

// Whoever logs out leaves nothing behind.
effect(() => {
  if (session.value === null && endedSession.value === null) sheets.clear()
})

/** @param owner whose it is: the account, the namespace, the service. */
export function openSheet(owner: readonly string[], endpoint: Endpoint): CallSheet {
  const key = JSON.stringify([...owner, endpoint.name])
  const given = schemaOf(endpoint, 'request')
  const schema = JSON.stringify(given)
  const known = sheets.get(key)
  if (known?.schema === schema) return known.sheet
  const field = toField(given)
  const sheet: CallSheet = {
    field,
    draft: signal(emptyDraft(field)),
    isRaw: signal(field.kind === 'json'),
    raw: signal(field.kind === 'json' ? '{}' : ''),
    metadata: known?.sheet.metadata ?? signal(''),
    timeout: known?.sheet.timeout ?? signal(''),
    problems: signal([]),
    outcome: known?.sheet.outcome ?? signal(undefined),
    stream: known?.sheet.stream ?? new StreamLog(),
  }
  // Another version of the service: what was typed goes into its form, or stays as JSON.
  if (known !== undefined) fillIn(sheet, readSheet(known.sheet).value ?? {})
  sheets.set(key, { schema, sheet })
  return sheet
}

/** The request as it is typed, or what is wrong with it. */
export function readSheet({ isRaw, raw, field, draft }: CallSheet): Request {
  return isRaw.value ? parseRequest(raw.value) : toRequest(field, draft.value)
}

/** Puts a request in: into the form where it has a place there, else as JSON. */
export function fillIn(sheet: CallSheet, request: unknown): void {
  const { field, draft, isRaw, raw, problems } = sheet
  problems.value = []
  try {
    draft.value = fromRequest(field, request)
    isRaw.value = field.kind === 'json'
  } catch {
    isRaw.value = true
  }
  raw.value = JSON.stringify(request, null, 2)
}

/** Types on in JSON. A form that is not filled in rightly stays as it is, and is what comes back. */
export function toRaw(sheet: CallSheet): void {
  const { value } = toRequest(sheet.field, sheet.draft.value)
  if (value !== undefined) sheet.raw.value = JSON.stringify(value, null, 2)
  sheet.isRaw.value = true
  sheet.problems.value = []
}

/** Goes on in the form, or says what has no place there: then JSON stays. */
export function toForm(sheet: CallSheet): void {
  const { value, problems } = parseRequest(sheet.raw.value)
  if (problems.length > 0) {
    sheet.problems.value = problems
    return
  }
  try {
    sheet.draft.value = fromRequest(sheet.field, value)
    sheet.isRaw.value = false
    sheet.problems.value = []
  } catch (error) {
    const { message } = error as Error
    sheet.problems.value = [{ path: ROOT, message: `cannot go on in the form: ${message}` }]
  }
}
