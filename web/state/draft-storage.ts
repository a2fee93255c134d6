import { effect } from '@preact/signals'
import { useCallback, useLayoutEffect, useState } from 'preact/hooks'
import { endedSession, namespace, session } from './session.ts'

/** Identifies a form in the namespace, such as `config`, `shop.title`. */
export type DraftKey = readonly string[]

const drafts = new Map<string, unknown>()
let owner: string | undefined

// Drafts must not be visible to another account. They survive an expired session of the same account.
effect(() => {
  const { account } = session.value ?? endedSession.value ?? {}
  const id = account && JSON.stringify([account.issuer, account.id])
  if (id !== owner) drafts.clear()
  owner = id
})

/** Unsent form content of the account. */
export function readDraft<T>(key: DraftKey): T | undefined {
  return drafts.get(toMapKey(key)) as T | undefined
}

/** @param draft undefined deletes it. */
export function saveDraft(key: DraftKey, draft: unknown): void {
  if (draft === undefined) drafts.delete(toMapKey(key))
  else drafts.set(toMapKey(key), draft)
}

/** Stores form content beyond the lifetime of the form. @param draft undefined deletes it. */
export function useStoredDraft(key: DraftKey, draft: unknown): void {
  useLayoutEffect(() => saveDraft(key, draft))
}

/**
 * State of a form that outlives the form.
 *
 * @param initial must be the same object on each render; it is not stored.
 */
export function useDraft<T extends object>(
  key: DraftKey,
  initial: T,
): readonly [draft: T, setDraft: (draft: T) => void] {
  const [draft, setDraft] = useState(() => readDraft<T>(key) ?? initial)
  const toStored = (draft: T): T | undefined => (draft === initial ? undefined : draft)
  useStoredDraft(key, toStored(draft))
  // Also effective after the form was unmounted.
  const change = useCallback((next: T) => {
    saveDraft(key, toStored(next))
    setDraft(next)
  }, [])
  return [draft, change]
}

function toMapKey(key: DraftKey): string {
  return JSON.stringify([namespace.peek(), ...key])
}
