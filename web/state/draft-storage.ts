import { effect } from '@preact/signals'
import { useCallback, useLayoutEffect, useState } from 'preact/hooks'
import { endedSession, namespace, session } from './session.ts'

/** Key of a form in the namespace, such as `config`, `shop.title`. */
export type DraftKey = readonly string[]

const drafts = new Map<string, unknown>()
let owner: string | undefined

// Drafts must not be visible to a different account, but are preserved when the session of the same account expires.
effect(() => {
  const { account } = session.value ?? endedSession.value ?? {}
  const id = account && JSON.stringify([account.issuer, account.id])
  if (id !== owner) drafts.clear()
  owner = id
})

/** Reads the unsent form content of the account. */
export function readDraft<T>(key: DraftKey): T | undefined {
  return drafts.get(toMapKey(key)) as T | undefined
}

/** Stores form content. @param draft content; undefined deletes it. */
export function saveDraft(key: DraftKey, draft: unknown): void {
  if (draft === undefined) drafts.delete(toMapKey(key))
  else drafts.set(toMapKey(key), draft)
}

/** Stores form content beyond the lifetime of the form. @param draft content; undefined deletes it. */
export function useStoredDraft(key: DraftKey, draft: unknown): void {
  useLayoutEffect(() => saveDraft(key, draft))
}

/**
 * State of a form that outlives the form.
 *
 * @param initial initial state, which is not stored; must be the same object on each render.
 */
export function useDraft<T extends object>(
  key: DraftKey,
  initial: T,
): readonly [draft: T, setDraft: (draft: T) => void] {
  const [draft, setDraft] = useState(() => readDraft<T>(key) ?? initial)
  const toStored = (draft: T): T | undefined => (draft === initial ? undefined : draft)
  useStoredDraft(key, toStored(draft))
  // Takes effect even after the form was unmounted.
  const change = useCallback((next: T) => {
    saveDraft(key, toStored(next))
    setDraft(next)
  }, [])
  return [draft, change]
}

function toMapKey(key: DraftKey): string {
  return JSON.stringify([namespace.peek(), ...key])
}
