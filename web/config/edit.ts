/** Edit of a configuration value. */
export interface Edit {
  /** Value at the start of the edit. */
  readonly original: string
  readonly text: string
  /** True if `original` is a revealed secret. */
  readonly isRevealed: boolean
}

/** Starts an edit. @param value current value; empty for a hidden secret. */
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

/** Replaces the original value, preserving unsaved input. */
export function withOriginal(edit: Edit, original: string): Edit {
  return { ...edit, original, text: isDirty(edit) ? edit.text : original }
}

/** Updates the edit after `sent` was saved as `saved`, preserving input since then. */
export function settleEdit({ text }: Edit, sent: string, saved: string): Edit {
  return { original: saved, text: text === sent ? saved : text, isRevealed: false }
}
