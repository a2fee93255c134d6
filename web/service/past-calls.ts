import { signal } from '@preact/signals'
import {
  addToHistory,
  clearHistory,
  type Owner,
  type PastCall,
  readHistory,
} from '../form/history.ts'

const changes = signal(0)

/** Calls by the account in this browser, newest first. */
export function pastCalls(account: Owner): readonly PastCall[] {
  changes.value
  return readHistory(localStorage, account)
}

export function saveCall(account: Owner, call: PastCall): void {
  addToHistory(localStorage, account, call)
  changes.value++
}

export function clearCalls(account: Owner): void {
  clearHistory(localStorage, account)
  changes.value++
}
