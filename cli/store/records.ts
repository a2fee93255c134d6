import type { Session } from '../session/session.ts'

/** A table of a database. */
export interface Table {
  readonly database: string
  /** Table name; empty for the default table. */
  readonly table: string
}

/** A record of the `store` service (specification: Store record). */
export interface StoredRecord {
  readonly key: string
  /** Base64. */
  readonly value: string
  /** Seconds until the record expires; 0 for never. */
  readonly expiry: number
  readonly metadata: Readonly<Record<string, object>>
  readonly version: number
}

/** Request of `Store.Read` (reference 4). */
export interface ReadRequest {
  readonly key?: string
  readonly options: Table & {
    readonly prefix?: string | true
    readonly suffix?: string | true
    readonly from?: string
    readonly to?: string
    readonly order?: string
    /** Maximum number of records; 0 for no limit. */
    readonly limit: number
    readonly offset: number
  }
}

interface RecordPage {
  readonly records: readonly StoredRecord[]
  /** Key that starts the next page; absent on the last page. */
  readonly next?: string
}

/** Formats a count as `1 record` or `2 records`. */
export function countRecords(count: number): string {
  return `${count} ${count === 1 ? 'record' : 'records'}`
}

export async function* readRecords(
  { call }: Session,
  { key, options }: ReadRequest,
): AsyncGenerator<StoredRecord, void, undefined> {
  let { limit, offset } = options
  let after: string | undefined
  for (;;) {
    const request = {
      ...(key !== undefined && { key }),
      options: { ...options, limit, offset, ...(after !== undefined && { after }) },
    }
    const { records, next }: RecordPage = await call('store', 'Store.Read', request)
    yield* records
    if (limit > 0) limit -= records.length
    const isComplete = limit === 0 && options.limit > 0
    if (next === undefined || isComplete) return
    offset = 0
    after = next
  }
}

export async function listNames(
  { call }: Session,
  kind: 'databases' | 'tables',
  request: object,
): Promise<readonly string[]> {
  const endpoint = kind === 'databases' ? 'Store.Databases' : 'Store.Tables'
  const names: string[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    type Page = { readonly [K in typeof kind]?: readonly string[] } & { readonly next?: string }
    const page: Page = await call('store', endpoint, { ...request, after })
    names.push(...(page[kind] ?? []))
    after = page.next
  }
  return names
}
