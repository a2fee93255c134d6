import { CallError } from '../rpc/call-error.ts'
import { call, openStream, type Stream } from '../rpc/caller.ts'
import type { StoredRecord } from './record.ts'

export interface Table {
  readonly database: string
  readonly table: string
}

/** Records sorted by key. */
export interface RecordPage {
  readonly records: readonly StoredRecord[]
  /** Cursor of the next page. */
  readonly next?: string
}

export interface PageQuery extends Table {
  /** Key prefix. */
  readonly prefix: string
  /** Cursor; empty for the first page. */
  readonly after: string
  readonly limit: number
}

/** Maximum number of listed databases or tables. */
const MAX_NAMES = 10_000

export async function readPage(query: PageQuery, signal: AbortSignal): Promise<RecordPage> {
  return (await call<RecordPage>('store', 'Store.Read', { options: query }, { signal })).body
}

/** Reads a record; null if it does not exist. */
export async function readRecord(table: Table, key: string): Promise<StoredRecord | null> {
  try {
    const { body } = await call<RecordPage>('store', 'Store.Read', { key, options: table })
    return body.records[0] ?? null
  } catch (error) {
    // 400 means that the database no longer exists.
    if (error instanceof CallError && (error.code === 404 || error.code === 400)) return null
    throw error
  }
}

/**
 * Writes a record. Returns its new version.
 *
 * @param version expected current version; 0 if the record must not exist. @throws {CallError} 409 on a conflict.
 */
export async function writeRecord(
  table: Table,
  record: Omit<StoredRecord, 'version'>,
  version: number,
): Promise<number> {
  const request = { record, options: { ...table, version } }
  return (await call<{ version: number }>('store', 'Store.Write', request)).body.version
}

/** Deletes a record. @param version expected current version. @throws {CallError} 409 on a conflict. */
export async function deleteRecord(table: Table, key: string, version: number): Promise<void> {
  await call('store', 'Store.Delete', { key, options: { ...table, version } })
}

/** Streams a message for each change of a table. */
export function watchTable(table: Table): Stream<unknown> {
  return openStream('store', 'Store.Watch', { options: table })
}

/** Lists non-empty databases. Requires a platform administrator. */
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
  for (let after: string | undefined = ''; after !== undefined && names.length < MAX_NAMES; ) {
    const page: Page = (await call<Page>('store', endpoint, { ...request, after }, { signal })).body
    names.push(...(page[kind] ?? []))
    after = page.next
  }
  return names
}
