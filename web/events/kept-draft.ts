import { effect, type Signal, signal } from '@preact/signals'
import { session } from '../session.ts'
import { type Draft, EMPTY } from './draft.ts'

/** What was typed and not published yet: it stays wherever the page goes. */
export const draft: Signal<Draft> = signal(EMPTY)

let owner: string | undefined
// What somebody has typed is nobody else's to see.
effect(() => {
  const { account } = session.value ?? {}
  if (account === undefined) return
  const id = `${account.issuer}/${account.id}`
  if (owner !== undefined && owner !== id) draft.value = EMPTY
  owner = id
})
