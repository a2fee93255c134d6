import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import type { Store } from './store.ts'

/** Reads all records with a prefix in order, across all pages. */
export async function readAll(
  store: Store,
  table: StoreTable,
  prefix: string,
  signal?: AbortSignal,
): Promise<readonly StoreRecord[]> {
  const records: StoreRecord[] = []
  let after: string | undefined
  do {
    const page = await store.list(table, { prefix, ...(after !== undefined && { after }) }, signal)
    records.push(...page.records)
    after = page.next
  } while (after !== undefined)
  return records
}
