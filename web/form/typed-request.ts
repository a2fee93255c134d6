import { type Signal, signal } from '@preact/signals'
import { type Draft, emptyDraft } from './draft.ts'
import type { Field } from './field.ts'
import { fromRequest } from './from-request.ts'
import { type Problem, parseRequest, type Request, ROOT, toRequest, toTyped } from './to-request.ts'

/** A request while it is typed: in a form, or as JSON. */
export interface TypedRequest {
  readonly field: Field
  readonly draft: Signal<Draft>
  /** Whether it is typed as JSON. */
  readonly isRaw: Signal<boolean>
  readonly raw: Signal<string>
  readonly problems: Signal<readonly Problem[]>
}

export function openRequest(field: Field): TypedRequest {
  return {
    field,
    draft: signal(emptyDraft(field)),
    isRaw: signal(field.kind === 'json'),
    raw: signal(field.kind === 'json' ? '{}' : ''),
    problems: signal([]),
  }
}

/** The request as it is typed, or what is wrong with it. */
export function readRequest({ isRaw, raw, field, draft }: TypedRequest): Request {
  return isRaw.value ? parseRequest(raw.value) : toRequest(field, draft.value)
}

/** Puts a request in: into the form where it has a place there, else as JSON. */
export function fillIn(typed: TypedRequest, request: unknown): void {
  const { field, draft, isRaw, raw, problems } = typed
  problems.value = []
  try {
    draft.value = fromRequest(field, request)
    isRaw.value = field.kind === 'json'
  } catch {
    isRaw.value = true
  }
  raw.value = format(request)
}

/** Types on in JSON, which says all that is in the form, right or wrong. */
export function toRaw({ field, draft, isRaw, raw, problems }: TypedRequest): void {
  raw.value = format(toTyped(field, draft.value))
  isRaw.value = true
  problems.value = []
}

/** Goes on in the form, or says what has no place there: then JSON stays. */
export function toForm({ field, draft, isRaw, raw, problems }: TypedRequest): void {
  // JSON that the form itself told does not say all that is in it: which field was wrong, what other alternatives have.
  if (raw.value !== format(toTyped(field, draft.value))) {
    const read = parseRequest(raw.value)
    problems.value = read.problems
    if (read.problems.length > 0) return
    try {
      draft.value = fromRequest(field, read.value)
    } catch (error) {
      const { message } = error as Error
      problems.value = [{ path: ROOT, message: `cannot go on in the form: ${message}` }]
      return
    }
  }
  isRaw.value = false
  problems.value = []
}

/** What was typed with another schema: goes into the form of this one, or stays as JSON. */
export function adoptRequest(typed: TypedRequest, before: TypedRequest): void {
  const { field, draft, isRaw, raw } = before
  if (isRaw.value) {
    const { value, problems } = parseRequest(raw.value)
    if (problems.length === 0) return fillIn(typed, value)
    typed.raw.value = raw.value
    typed.isRaw.value = true
    return
  }
  const isUntouched = JSON.stringify(draft.value) === JSON.stringify(emptyDraft(field))
  if (!isUntouched) fillIn(typed, toTyped(field, draft.value))
}

function format(request: unknown): string {
  return JSON.stringify(request, null, 2)
}
