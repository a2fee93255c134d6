import { type Signal, signal } from '@preact/signals'
import { type Draft, emptyDraft } from './draft.ts'
import type { Field } from './field.ts'
import { fromRequest } from './from-request.ts'
import {
  type Problem,
  parseRequest,
  type Request,
  ROOT,
  toLenientRequest,
  toRequest,
} from './to-request.ts'

/** A request being edited as a form or as JSON. */
export interface RequestEditor {
  readonly field: Field
  readonly draft: Signal<Draft>
  /** True if it is edited as JSON. */
  readonly isRaw: Signal<boolean>
  readonly raw: Signal<string>
  readonly problems: Signal<readonly Problem[]>
}

export function openRequest(field: Field): RequestEditor {
  return {
    field,
    draft: signal(emptyDraft(field)),
    isRaw: signal(field.kind === 'json'),
    raw: signal(field.kind === 'json' ? '{}' : ''),
    problems: signal([]),
  }
}

/** Current request, or its validation errors. */
export function readRequest({ isRaw, raw, field, draft }: RequestEditor): Request {
  return isRaw.value ? parseRequest(raw.value) : toRequest(field, draft.value)
}

/** Loads a request into the form if the form can represent it, else as JSON. */
export function loadRequest(editor: RequestEditor, request: unknown): void {
  const { field, draft, isRaw, raw, problems } = editor
  problems.value = []
  try {
    draft.value = fromRequest(field, request)
    isRaw.value = field.kind === 'json'
  } catch {
    isRaw.value = true
  }
  raw.value = format(request)
}

/** Switches to JSON, preserving invalid input. */
export function toRaw({ field, draft, isRaw, raw, problems }: RequestEditor): void {
  raw.value = format(toLenientRequest(field, draft.value))
  isRaw.value = true
  problems.value = []
}

/** Switches to the form. If the form cannot represent the request, stays in JSON and reports the reason. */
export function toForm({ field, draft, isRaw, raw, problems }: RequestEditor): void {
  // For unchanged JSON, the previous form is restored, because it also contains invalid fields and other alternatives.
  if (raw.value !== format(toLenientRequest(field, draft.value))) {
    const parsed = parseRequest(raw.value)
    problems.value = parsed.problems
    if (parsed.problems.length > 0) return
    try {
      draft.value = fromRequest(field, parsed.value)
    } catch (error) {
      const { message } = error as Error
      problems.value = [{ path: ROOT, message: `cannot be shown in the form: ${message}` }]
      return
    }
  }
  isRaw.value = false
  problems.value = []
}

/** Adopts the input of an editor with a different schema. */
export function adoptRequest(editor: RequestEditor, previous: RequestEditor): void {
  const { field, draft, isRaw, raw } = previous
  if (isRaw.value) {
    const { value, problems } = parseRequest(raw.value)
    if (problems.length === 0) return loadRequest(editor, value)
    editor.raw.value = raw.value
    editor.isRaw.value = true
    return
  }
  const isUntouched = JSON.stringify(draft.value) === JSON.stringify(emptyDraft(field))
  if (!isUntouched) loadRequest(editor, toLenientRequest(field, draft.value))
}

function format(request: unknown): string {
  return JSON.stringify(request, null, 2)
}
