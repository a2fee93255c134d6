/** Edit of a config value. */
export interface Edit {
  /** Value when editing began. */
  readonly original: string
  readonly text: string
  /** Whether `original` is a revealed secret. */
  readonly isRevealed: boolean
}

/** @param value empty for a hidden secret. */
export function startEdit(value: string): Edit {
  return { original: value, text: value, isRevealed: false }
}

export function isDirty({ original, text }: Edit): boolean {
  return text !== original
}

export function revealEdit(edit: Edit, secret: string): Edit {
  return { ...withOriginal(edit, secret), isRevealed: true }
}

export function hideEdit(edit: Edit): Edit {
  return { ...withOriginal(edit, ''), isRevealed: false }
}

/** Replaces the original value; unsaved input is preserved. */
export function withOriginal(edit: Edit, original: string): Edit {
  return { ...edit, original, text: isDirty(edit) ? edit.text : original }
}

/** After `sent` was saved as `saved`; later input is preserved. */
export function settleEdit({ text }: Edit, sent: string, saved: string): Edit {
  return { original: saved, text: text === sent ? saved : text, isRevealed: false }
}
