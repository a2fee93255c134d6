import { CallError } from '../rpc/call-error.ts'
import { call, openStream, type Stream } from '../rpc/caller.ts'
import type { StoredRecord } from './record.ts'

/** A table, and whose it is. */
export interface Table {
  readonly database: string
  readonly table: string
}

/** Records in the order of their keys. */
export interface RecordPage {
  readonly records: readonly StoredRecord[]
  /** There are more: read after this key. */
  readonly next?: string
}

/** What is asked of a page. */
export interface PageQuery extends Table {
  /** What keys begin with. */
  readonly prefix: string
  /** Key behind which it begins; empty: at the first. */
  readonly after: string
  readonly limit: number
}

/** Names of databases or tables, page by page, at most so many. */
const MOST_NAMES = 10_000

export async function readPage(query: PageQuery, signal: AbortSignal): Promise<RecordPage> {
  return (await call<RecordPage>('store', 'Store.Read', { options: query }, { signal })).body
}

/** A record; null: there is none. */
export async function readRecord(table: Table, key: string): Promise<StoredRecord | null> {
  try {
    const { body } = await call<RecordPage>('store', 'Store.Read', { key, options: table })
    return body.records[0] ?? null
  } catch (error) {
    // 400: its database has none any more, of any key.
    if (error instanceof CallError && (error.code === 404 || error.code === 400)) return null
    throw error
  }
}

/**
 * Writes a record.
 *
 * @param version that there must be; 0: none. @throws {CallError} 409 when there is another.
 */
export async function writeRecord(
  table: Table,
  record: Omit<StoredRecord, 'version'>,
  version: number,
): Promise<number> {
  const request = { record, options: { ...table, version } }
  return (await call<{ version: number }>('store', 'Store.Write', request)).body.version
}

/** @param version that there must be. @throws {CallError} 409 when there is another. */
export async function deleteRecord(table: Table, key: string, version: number): Promise<void> {
  await call('store', 'Store.Delete', { key, options: { ...table, version } })
}

/** A message for each change of a table. */
export function watchTable(table: Table): Stream<unknown> {
  return openStream('store', 'Store.Watch', { options: table })
}

/** Databases that have records; for administrators of the platform. */
export function listDatabases(signal: AbortSignal): Promise<readonly string[]> {
  return listNames('databases', {}, signal)
}

export function listTables(database: string, signal: AbortSignal): Promise<readonly string[]> {
  return listNames('tables', { database }, signal)
}

async function listNames(
  kind: 'databases' | 'tables',
  request: object,
  signal: AbortSignal,
): Promise<readonly string[]> {
  type Page = { readonly [K in typeof kind]?: readonly string[] } & { readonly next?: string }
  const endpoint = kind === 'databases' ? 'Store.Databases' : 'Store.Tables'
  const names: string[] = []
  for (let after: string | undefined = ''; after !== undefined && names.length < MOST_NAMES; ) {
    const page: Page = (await call<Page>('store', endpoint, { ...request, after }, { signal })).body
    names.push(...(page[kind] ?? []))
    after = page.next
  }
  return names
}
