/** What is typed in place of a value. */
export interface Edit {
  /** What was there when typing began. */
  readonly before: string
  readonly typed: string
  /** It is a secret that is shown. */
  readonly isRevealed: boolean
}

/** @param shown what is there; empty for a secret. */
export function beginEdit(shown: string): Edit {
  return { before: shown, typed: shown, isRevealed: false }
}

export function isTyped({ before, typed }: Edit): boolean {
  return typed !== before
}

/** A secret is shown, or, as the empty text, hidden; what is typed stays. */
export function revealEdit(edit: Edit, secret: string): Edit {
  return { ...withBefore(edit, secret), isRevealed: true }
}

export function hideEdit(edit: Edit): Edit {
  return { ...withBefore(edit, ''), isRevealed: false }
}

/** Another value is there: what is typed stays. */
export function withBefore(edit: Edit, before: string): Edit {
  return { ...edit, before, typed: isTyped(edit) ? edit.typed : before }
}

/** What was typed was set, and is there as `now`; what was typed since stays. */
export function settleEdit({ typed }: Edit, sent: string, now: string): Edit {
  return { before: now, typed: typed === sent ? now : typed, isRevealed: false }
}
