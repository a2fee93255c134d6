import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { Type } from '../../core/schema.ts'
import { MAX_PAGE, type StoreQuery } from '../../domain/store/page.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest, notFound } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import {
  Condition,
  DatabaseName,
  DEFAULT_TABLE,
  Key,
  KeyPart,
  Listing,
  Paging,
  type RangeOptions,
  Reading,
  type ReadOptions,
  RecordInput,
  RecordsInput,
  RecordView,
  type TableOptions,
  Watching,
} from './messages.ts'
import { mustBeThere } from './named-database.ts'
import { type RecordMessage, toExpiresMs, toMessage, toMetadata } from './records.ts'
import { rejectReserved } from './reserved.ts'
import type { Watches } from './watches.ts'

const NextName = Type.Optional(
  Type.String({ description: 'There are more: list again, after this name.' }),
)

const IN_OPTIONS = 'request.options.database'

/** A page of records. */
interface RecordsMessage {
  readonly records: RecordMessage[]
  readonly next?: string
}

/** What the handler `Store` offers (reference 4) to services of the namespace that the database is named after; workloads have the table of their name. */
export function createStoreEndpoints(
  store: Store,
  watches: Watches,
  nowMs: () => number,
  { mustBeAdmin, mustBeOperator, mustBeService }: AccountChecks,
): Endpoints {
  /** @throws {GatewayError} 401 and 403 for callers that may not use the table, 403 for a table that is reserved. */
  const tableOf = (options: TableOptions, ctx: Context): StoreTable => {
    const id = idOf(ctx)
    const table = toTable(options, ctx)
    mustBeService(ctx, table.database, id, table.table)
    rejectReserved(table, id)
    return table
  }
  /** @param field of the request that has the record. */
  const toWrite = (
    { key, value, expiry, metadata }: RecordMessage,
    field: string,
    table: StoreTable,
    ctx: Context,
  ): StoreWrite => {
    if (value.length > store.maxValueBytes)
      throw badRequest(
        idOf(ctx),
        `request.${field}.value must be at most ${store.maxValueBytes} bytes, got ${value.length}`,
      )
    return {
      table,
      key,
      value,
      metadata: toMetadata(metadata),
      expiresMs: toExpiresMs(expiry, nowMs()),
    }
  }
  /** The reply with one record, or the error for none. */
  const tellOne = (
    record: StoreRecord | undefined,
    key: string,
    { database }: TableOptions,
    ctx: Context,
  ): Maybe<RecordsMessage> =>
    record === undefined
      ? refuseMissing(key, database, ctx)
      : { records: [toMessage(record, nowMs())] }

  async function refuseMissing(key: string, database: string, ctx: Context): Promise<never> {
    await mustBeThere(store, database, IN_OPTIONS, ctx)
    throw notFound(idOf(ctx), `not found: ${key}`)
  }

  async function readList(
    table: StoreTable,
    key: string,
    options: ReadOptions,
    ctx: Context,
  ): Promise<RecordsMessage> {
    const { limit, offset } = options
    const query = { ...toParts(key, options, idOf(ctx)), ...toBounds(options), limit, offset }
    const { records, next } = await store.list(table, query, ctx.signal)
    if (records.length === 0) await mustBeThere(store, options.database, IN_OPTIONS, ctx)
    const now = nowMs()
    const told = records.map((record) => toMessage(record, now))
    return next === undefined ? { records: told } : { records: told, next }
  }

  return {
    read: endpoint({
      readOnly: true,
      description: 'The record of a key, or those whose keys begin or end alike, a page at a time.',
      request: Type.Object({ key: Type.Optional(KeyPart), options: Reading }),
      response: Type.Object({
        records: Type.Array(RecordView),
        next: Type.Optional(
          Type.String({ description: 'There are more: read again, after this key.' }),
        ),
      }),
      handle({ key = '', options }, ctx) {
        const table = tableOf(options, ctx)
        if (isList(options)) return readList(table, key, options, ctx)
        if (key === '')
          throw badRequest(
            idOf(ctx),
            'request.key must not be empty, or request.options.prefix, suffix, from or to must say what to read',
          )
        const record = store.read(table, key)
        return record instanceof Promise
          ? record.then((found) => tellOne(found, key, options, ctx))
          : tellOne(record, key, options, ctx)
      },
    }),

    write: endpoint({
      description: 'Writes a record, or several, over those of their keys.',
      request: Type.Object({
        record: Type.Optional(RecordInput),
        records: Type.Optional(RecordsInput),
        options: Condition,
      }),
      response: Type.Object({
        version: Type.Integer({
          description: 'Of what was written; of several, that of the last.',
        }),
        versions: Type.Optional(
          Type.Array(Type.Integer(), { description: 'Of several, in their order.' }),
        ),
      }),
      handle({ record, records, options }, ctx) {
        if ((record === undefined) === (records === undefined))
          throw badRequest(
            idOf(ctx),
            'request.record must say what to write, or request.records in its place',
          )
        const table = tableOf(options, ctx)
        if (record !== undefined)
          return store
            .commit([{ ...toWrite(record, 'record', table, ctx), ...toCondition(options) }])
            .then(([version]) => ({ version: version! }))
        if (options.version !== undefined)
          throw badRequest(
            idOf(ctx),
            'request.options.version must be absent where several records are written',
          )
        const writes = records!.map((one, i) => toWrite(one, `records[${i}]`, table, ctx))
        return store
          .commit(writes)
          .then((versions) => ({ version: versions.at(-1)!, versions: [...versions] }))
      },
    }),

    delete: endpoint({
      description: 'Deletes a record; one that is not there does not matter.',
      request: Type.Object({ key: Key, options: Condition }),
      response: Type.Object({}),
      async handle({ key, options }, ctx) {
        await store.commit([{ table: tableOf(options, ctx), key, ...toCondition(options) }])
        return {}
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Keys, in messages of at most 1000; one at least.',
      request: Type.Object({ options: Listing }),
      response: Type.Object({ keys: Type.Array(Type.String()) }),
      stream: 'server',
      async *handle({ options }, ctx) {
        const { limit, offset, prefix, suffix } = options
        let query: StoreQuery = {
          ...toBounds(options),
          prefix,
          suffix,
          limit,
          offset,
          keysOnly: true,
        }
        const table = tableOf(options, ctx)
        let left = limit === 0 ? Number.POSITIVE_INFINITY : limit
        for (;;) {
          const { records, next } = await store.list(table, query, ctx.signal)
          if (records.length === 0) await mustBeThere(store, options.database, IN_OPTIONS, ctx)
          yield { keys: records.map(({ key }) => key) }
          left -= records.length
          if (next === undefined || left === 0) return
          query = { ...query, after: next, offset: 0, limit: limit === 0 ? 0 : left }
        }
      },
    }),

    databases: endpoint({
      readOnly: true,
      description: 'Databases that have records, a page at a time.',
      request: Type.Object({ ...Paging }),
      response: Type.Object({ databases: Type.Array(Type.String()), next: NextName }),
      async handle({ limit, after }, ctx) {
        mustBeOperator(ctx, idOf(ctx))
        const count = toPageLimit(limit)
        const query = { limit: count + 1, ...(after !== '' && { after }) }
        const found = await store.listDatabases(query, ctx.signal)
        const databases = found.slice(0, count)
        return { databases, ...toNext(databases, found) }
      },
    }),

    tables: endpoint({
      readOnly: true,
      description: 'Tables of a database that have records, a page at a time.',
      request: Type.Object({ database: DatabaseName, ...Paging }),
      response: Type.Object({ tables: Type.Array(Type.String()), next: NextName }),
      async handle({ database: given, limit, after }, ctx) {
        const database = given || toNamespace(ctx, idOf(ctx))
        mustBeAdmin(ctx, database, idOf(ctx))
        const count = toPageLimit(limit)
        const place = after === '' ? {} : { after: { database, table: after } }
        const found = await store.listTables({ database, limit: count + 1, ...place }, ctx.signal)
        if (found.length === 0) await mustBeThere(store, given, 'request.database', ctx)
        const tables = found.slice(0, count).map(({ table }) => table)
        return { tables, ...toNext(tables, found) }
      },
    }),

    watch: endpoint({
      readOnly: true,
      description: 'Every change from now on. The stream begins at once.',
      request: Type.Object({ options: Watching }),
      response: Type.Object({
        action: Type.Union([Type.Literal('write'), Type.Literal('delete')]),
        key: Type.String(),
        record: Type.Optional(RecordView),
      }),
      stream: 'server',
      handle({ options }, ctx) {
        const { prefix } = options
        return watches.open({ table: tableOf(options, ctx), prefix }, idOf(ctx), () => ctx.start())
      },
    }),
  }
}

/** Reference 6: `store.Store.Read`, whatever namespace the caller put in front. */
function idOf(ctx: Context): string {
  return `store.${ctx.endpoint}`
}

/** Namespaces are apart: each has a database of its own. */
function toTable({ database, table }: TableOptions, ctx: Context): StoreTable {
  return { database: database || toNamespace(ctx, idOf(ctx)), table: table || DEFAULT_TABLE }
}

function toPageLimit(limit: number): number {
  return Math.min(limit || MAX_PAGE, MAX_PAGE)
}

/** Where the next page begins, if more was found than the page has. */
function toNext(page: readonly string[], found: readonly unknown[]): { readonly next?: string } {
  return found.length === page.length ? {} : { next: page.at(-1)! }
}

function toCondition({ version }: { readonly version?: number }): { readonly ifVersion?: number } {
  return version === undefined ? {} : { ifVersion: version }
}

/** Whether more than the record of the key is asked for. */
function isList({ prefix, suffix, from, to, after }: ReadOptions): boolean {
  return prefix !== false || suffix !== false || from !== '' || to !== '' || after !== ''
}

function toBounds({ from, to, after, order }: RangeOptions): StoreQuery {
  return {
    reverse: order === 'desc',
    ...(from !== '' && { from }),
    ...(to !== '' && { to }),
    ...(after !== '' && { after }),
  }
}

/** What keys begin and end with: the key, where a flag says so, or the option's own text. */
function toParts(key: string, { prefix, suffix }: ReadOptions, id: string): StoreQuery {
  if (key !== '' && prefix !== true && suffix !== true)
    throw badRequest(id, 'request.key must be empty, or request.options.prefix or suffix true')
  const toText = (part: boolean | string): string => (part === true ? key : part || '')
  return { prefix: toText(prefix), suffix: toText(suffix) }
}
