import type { Field } from './field.ts'

/**
 * Form input of a field, serializable as JSON.
 *
 * | kind | `text` | `parts` |
 * |---|---|---|
 * | text, integer, number, json | input | |
 * | boolean | `true`, `false` | |
 * | choice | index of the choice | |
 * | bytes | base64 | |
 * | union | index of the alternative | one per alternative |
 * | object, tuple | | one per field |
 * | list, map | | one per item |
 */
export interface Draft {
  readonly presence: 'absent' | 'null' | 'set'
  readonly text: string
  readonly parts: readonly Part[]
  /** Name of the uploaded file. */
  readonly file?: string
}

/** A list item, map entry or object field. */
export interface Part {
  /** Id that is stable when other parts are added, moved or removed. */
  readonly id: number
  /** Key of a map entry. */
  readonly key: string
  readonly draft: Draft
}

/** Update function, applied to the latest draft. */
export type Change = (draft: Draft) => Draft

/** Maximum depth of initial fields, because required messages may be recursive. */
const MAX_DEPTH = 8

/** Draft of an absent field. */
export const ABSENT: Draft = Object.freeze({ presence: 'absent', text: '', parts: [] })

/** Maximum number of initial fields, because recursive messages may branch. */
const MAX_FIELDS = 200

/** Number of fields that may still be added. */
interface Budget {
  fields: number
}

/** Initial draft of a field, with its required fields. */
export function emptyDraft(field: Field): Draft {
  return begin(field, 0, { fields: MAX_FIELDS })
}

/** Draft of an added field: messages contain their required fields, and inputs are empty. */
export function openDraft(field: Field): Draft {
  return open(field, 0, { fields: MAX_FIELDS })
}

function begin(field: Field, depth: number, budget: Budget): Draft {
  const isOpen = field.isRequired && field.default === undefined && depth < MAX_DEPTH
  return isOpen && budget.fields-- > 0 ? open(field, depth, budget) : ABSENT
}

function open(field: Field, depth: number, budget: Budget): Draft {
  const { kind, parts, choices, schema } = field
  switch (kind) {
    case 'object':
    case 'tuple':
      return setDraft(
        '',
        parts.map((part) => begin(part, depth + 1, budget)),
      )
    case 'union':
      return setDraft(
        '0',
        parts.map((part, i) =>
          i === 0 && depth < MAX_DEPTH ? open(part, depth + 1, budget) : ABSENT,
        ),
      )
    case 'list':
      return setDraft(
        '',
        Array.from({ length: Math.min(schema.minItems ?? 0, 16) }, () =>
          begin(field.item!, depth + 1, budget),
        ),
      )
    case 'map':
    case 'null':
      return setDraft('', [])
    case 'boolean':
      return setDraft('false', [])
    case 'choice':
      return choices.length === 1 ? setDraft('0', []) : ABSENT
    default:
      // An empty string differs from an absent one.
      return ABSENT
  }
}

export function setDraft(text: string, drafts: readonly Draft[]): Draft {
  return {
    presence: 'set',
    text,
    parts: drafts.map((draft, id) => ({ id, key: '', draft })),
  }
}

export function withText(draft: Draft, text: string): Draft {
  return { presence: 'set', text, parts: draft.parts }
}

export function withPart(draft: Draft, id: number, change: Partial<Omit<Part, 'id'>>): Draft {
  return {
    ...draft,
    parts: draft.parts.map((part) => (part.id === id ? { ...part, ...change } : part)),
  }
}

/** Lifts a change of a part to the entire draft. No-op if the part was removed in the meantime. */
export function changePart(id: number, change: Change): Change {
  return (draft) => ({
    ...draft,
    parts: draft.parts.map((part) =>
      part.id === id ? { ...part, draft: change(part.draft) } : part,
    ),
  })
}

/** Appends an item or entry. */
export function addPart(draft: Draft, field: Field): Draft {
  const id = draft.parts.reduce((last, part) => Math.max(last, part.id), -1) + 1
  const part: Part = { id, key: '', draft: emptyDraft(field.item!) }
  return { ...draft, presence: 'set', parts: [...draft.parts, part] }
}

export function removePart(draft: Draft, id: number): Draft {
  return { ...draft, parts: draft.parts.filter((part) => part.id !== id) }
}

/** Moves a part up (-1) or down (1), within bounds. */
export function movePart(draft: Draft, id: number, by: -1 | 1): Draft {
  const at = draft.parts.findIndex((part) => part.id === id)
  const to = at + by
  if (at < 0 || to < 0 || to >= draft.parts.length) return draft
  const parts = [...draft.parts]
  parts.splice(to, 0, ...parts.splice(at, 1))
  return { ...draft, parts }
}

/** Selects an alternative of a union, preserving the input of the other alternatives. */
export function withAlternative(draft: Draft, field: Field, index: number): Draft {
  const { parts } = draft.parts.length === field.parts.length ? draft : openDraft(field)
  return {
    presence: 'set',
    text: String(index),
    parts: parts.map((part) =>
      part.id === index && part.draft.presence === 'absent'
        ? { ...part, draft: openDraft(field.parts[index]!) }
        : part,
    ),
  }
}
