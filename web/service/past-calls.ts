import { signal } from '@preact/signals'
import { addToHistory, clearHistory, type PastCall, readHistory } from '../form/history.ts'

const changes = signal(0)

/** Calls the account made in this browser, the last one first. */
export function pastCalls(account: string): readonly PastCall[] {
  changes.value
  return readHistory(localStorage, account)
}

export function keepCall(account: string, call: PastCall): void {
  addToHistory(localStorage, account, call)
  changes.value++
}

export function forgetCalls(account: string): void {
  clearHistory(localStorage, account)
  changes.value++
}
