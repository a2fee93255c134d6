import type { Field } from './field.ts'

/**
 * What is typed into a field, as it was typed: JSON, so that it can be kept.
 *
 * | kind | `text` | `parts` |
 * |---|---|---|
 * | text, integer, number, json | as typed | |
 * | boolean | `true`, `false` | |
 * | choice | position of the choice | |
 * | bytes | base64 | |
 * | union | position of the alternative | a draft for each |
 * | object, tuple | | a draft for each |
 * | list, map | | one for each that was added |
 */
export interface Draft {
  readonly presence: 'out' | 'null' | 'set'
  readonly text: string
  readonly parts: readonly Part[]
  /** Of the file whose bytes these are. */
  readonly file?: string
}

/** One item of a list, entry of a map, field of an object. */
export interface Part {
  /** Stays with it when others are added, moved or removed. */
  readonly id: number
  /** Of an entry of a map. */
  readonly key: string
  readonly draft: Draft
}

/** What somebody does to a draft, as it is by then. */
export type Change = (draft: Draft) => Draft

/** Deepest message that is opened by itself: one that must contain itself has no end. */
const MAX_DEPTH = 8

/** A draft of nothing: the field is left out. */
export const OUT: Draft = Object.freeze({ presence: 'out', text: '', parts: [] })

/** Most fields that are opened by themselves: a message may have to contain itself many times. */
const MAX_OPENED = 200

/** What may still be opened. */
interface Room {
  fields: number
}

/** What a field begins with: open as far as it must be, the rest left out. */
export function emptyDraft(field: Field): Draft {
  return begin(field, 0, { fields: MAX_OPENED })
}

/** What a field has when it is put in: messages with their fields, texts that are still to be typed. */
export function openDraft(field: Field): Draft {
  return open(field, 0, { fields: MAX_OPENED })
}

function begin(field: Field, depth: number, room: Room): Draft {
  const isOpen = field.isRequired && field.default === undefined && depth < MAX_DEPTH
  return isOpen && room.fields-- > 0 ? open(field, depth, room) : OUT
}

function open(field: Field, depth: number, room: Room): Draft {
  const { kind, parts, choices, schema } = field
  switch (kind) {
    case 'object':
    case 'tuple':
      return setDraft(
        '',
        parts.map((part) => begin(part, depth + 1, room)),
      )
    case 'union':
      return setDraft(
        '0',
        parts.map((part, i) => (i === 0 && depth < MAX_DEPTH ? open(part, depth + 1, room) : OUT)),
      )
    case 'list':
      return setDraft(
        '',
        Array.from({ length: Math.min(schema.minItems ?? 0, 16) }, () =>
          begin(field.item!, depth + 1, room),
        ),
      )
    case 'map':
    case 'null':
      return setDraft('', [])
    case 'boolean':
      return setDraft('false', [])
    case 'choice':
      return choices.length === 1 ? setDraft('0', []) : OUT
    default:
      // Typed by whoever fills it in: an empty text is something else than none.
      return OUT
  }
}

export function setDraft(text: string, drafts: readonly Draft[]): Draft {
  return {
    presence: 'set',
    text,
    parts: drafts.map((draft, id) => ({ id, key: '', draft })),
  }
}

/** A leaf with another text. */
export function withText(draft: Draft, text: string): Draft {
  return { presence: 'set', text, parts: draft.parts }
}

export function withPart(draft: Draft, id: number, change: Partial<Omit<Part, 'id'>>): Draft {
  return {
    ...draft,
    parts: draft.parts.map((part) => (part.id === id ? { ...part, ...change } : part)),
  }
}

/** A change of the whole, made of one of the draft of a part; a part that is gone meanwhile stays gone. */
export function changePart(id: number, change: Change): Change {
  return (draft) => ({
    ...draft,
    parts: draft.parts.map((part) =>
      part.id === id ? { ...part, draft: change(part.draft) } : part,
    ),
  })
}

/** One more item or entry, at the end. */
export function addPart(draft: Draft, field: Field): Draft {
  const id = draft.parts.reduce((last, part) => Math.max(last, part.id), -1) + 1
  const part: Part = { id, key: '', draft: emptyDraft(field.item!) }
  return { ...draft, presence: 'set', parts: [...draft.parts, part] }
}

export function removePart(draft: Draft, id: number): Draft {
  return { ...draft, parts: draft.parts.filter((part) => part.id !== id) }
}

/** One place up (-1) or down (1); where there is none it stays. */
export function movePart(draft: Draft, id: number, by: -1 | 1): Draft {
  const at = draft.parts.findIndex((part) => part.id === id)
  const to = at + by
  if (at < 0 || to < 0 || to >= draft.parts.length) return draft
  const parts = [...draft.parts]
  parts.splice(to, 0, ...parts.splice(at, 1))
  return { ...draft, parts }
}

/** Another alternative of a union; what was typed into the others stays. */
export function withAlternative(draft: Draft, field: Field, chosen: number): Draft {
  const { parts } = draft.parts.length === field.parts.length ? draft : openDraft(field)
  return {
    presence: 'set',
    text: String(chosen),
    parts: parts.map((part) =>
      part.id === chosen && part.draft.presence === 'out'
        ? { ...part, draft: openDraft(field.parts[chosen]!) }
        : part,
    ),
  }
}
