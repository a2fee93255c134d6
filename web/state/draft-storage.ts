import { effect } from '@preact/signals'
import { useCallback, useLayoutEffect, useState } from 'preact/hooks'
import { endedSession, namespace, session } from './session.ts'

/** Where something is typed: of the namespace, such as `config`, `shop.title`. */
export type Place = readonly string[]

const drafts = new Map<string, unknown>()
let owner: string | undefined

// What somebody has typed is nobody else's to see. A login that ended goes on with the next one.
effect(() => {
  const { account } = session.value ?? endedSession.value ?? {}
  const id = account && JSON.stringify([account.issuer, account.id])
  if (id !== owner) drafts.clear()
  owner = id
})

/** What was typed at a place and not sent, by the same account; undefined: nothing. */
export function readDraft<T>(place: Place): T | undefined {
  return drafts.get(toKey(place)) as T | undefined
}

/** @param draft undefined: nothing is to be kept. */
export function saveDraft(place: Place, draft: unknown): void {
  if (draft === undefined) drafts.delete(toKey(place))
  else drafts.set(toKey(place), draft)
}

/** Keeps what is typed while its form is not there. @param draft undefined: nothing is to be kept. */
export function useStoredDraft(place: Place, draft: unknown): void {
  useLayoutEffect(() => saveDraft(place, draft))
}

/**
 * What is typed at a place, which stays while its form is not there.
 *
 * @param nothing what is typed at first, always the same: it is not kept.
 */
export function useDraft<T extends object>(
  place: Place,
  nothing: T,
): readonly [typed: T, type: (typed: T) => void] {
  const [typed, setTyped] = useState(() => readDraft<T>(place) ?? nothing)
  const toKept = (typed: T): T | undefined => (typed === nothing ? undefined : typed)
  useStoredDraft(place, toKept(typed))
  // What becomes of it is also told to a form that is gone.
  const type = useCallback((typed: T) => {
    saveDraft(place, toKept(typed))
    setTyped(typed)
  }, [])
  return [typed, type]
}

function toKey(place: Place): string {
  return JSON.stringify([namespace.peek(), ...place])
}
