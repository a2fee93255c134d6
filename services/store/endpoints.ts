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
  ListOptionsSchema,
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
import { requireDatabase } from './named-database.ts'
import { type RecordMessage, toExpiresMs, toMessage, toMetadata } from './records.ts'
import { rejectReserved } from './reserved.ts'
import type { Watches } from './watches.ts'

const NextName = Type.Optional(
  Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
)

const IN_OPTIONS = 'request.options.database'

interface RecordsMessage {
  readonly records: RecordMessage[]
  readonly next?: string
}

/**
 * Endpoints of the `Store` handler (reference 4), for services of the namespace with the database's name. Workloads may
 * access the table with their name.
 */
export function createStoreEndpoints(
  store: Store,
  watches: Watches,
  nowMs: () => number,
  { mustBeAdmin, mustBeOperator, mustBeService }: AccountChecks,
): Endpoints {
  /**
   * @throws {GatewayError} 401 or 403 if the caller may not use the table, 403 if it is reserved.
   */
  const tableOf = (options: TableOptions, ctx: Context): StoreTable => {
    const id = idOf(ctx)
    const table = toTable(options, ctx)
    mustBeService(ctx, table.database, id, table.table)
    rejectReserved(table, id)
    return table
  }
  /** @param field field of the request that contains the record. */
  const toStoreWrite = (
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
  /** Returns a response with one record, or an error if it does not exist. */
  const toSingleRecord = (
    record: StoreRecord | undefined,
    key: string,
    { database }: TableOptions,
    ctx: Context,
  ): Maybe<RecordsMessage> =>
    record === undefined
      ? rejectMissing(key, database, ctx)
      : { records: [toMessage(record, nowMs())] }

  async function rejectMissing(key: string, database: string, ctx: Context): Promise<never> {
    await requireDatabase(store, database, IN_OPTIONS, ctx)
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
    if (records.length === 0) await requireDatabase(store, options.database, IN_OPTIONS, ctx)
    const now = nowMs()
    const messages = records.map((record) => toMessage(record, now))
    return next === undefined ? { records: messages } : { records: messages, next }
  }

  return {
    read: endpoint({
      readOnly: true,
      description:
        'Reads the record of a key, or the records with a common prefix or suffix, paginated.',
      request: Type.Object({ key: Type.Optional(KeyPart), options: Reading }),
      response: Type.Object({
        records: Type.Array(RecordView),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      handle({ key = '', options }, ctx) {
        const table = tableOf(options, ctx)
        if (isList(options)) return readList(table, key, options, ctx)
        if (key === '')
          throw badRequest(
            idOf(ctx),
            'request.key or one of request.options.prefix, suffix, from and to is required',
          )
        const record = store.read(table, key)
        return record instanceof Promise
          ? record.then((result) => toSingleRecord(result, key, options, ctx))
          : toSingleRecord(record, key, options, ctx)
      },
    }),

    write: endpoint({
      description: 'Writes one or several records and replaces existing ones.',
      request: Type.Object({
        record: Type.Optional(RecordInput),
        records: Type.Optional(RecordsInput),
        options: Condition,
      }),
      response: Type.Object({
        version: Type.Integer({
          description: 'Version of the record, or of the last one if there are several.',
        }),
        versions: Type.Optional(
          Type.Array(Type.Integer(), {
            description: 'Versions of several records, in the same order.',
          }),
        ),
      }),
      handle({ record, records, options }, ctx) {
        if ((record === undefined) === (records === undefined))
          throw badRequest(
            idOf(ctx),
            'exactly one of request.record and request.records is required',
          )
        const table = tableOf(options, ctx)
        if (record !== undefined)
          return store
            .commit([{ ...toStoreWrite(record, 'record', table, ctx), ...toCondition(options) }])
            .then(([version]) => ({ version: version! }))
        if (options.version !== undefined)
          throw badRequest(idOf(ctx), 'request.options.version is not allowed with request.records')
        const writes = records!.map((one, i) => toStoreWrite(one, `records[${i}]`, table, ctx))
        return store
          .commit(writes)
          .then((versions) => ({ version: versions.at(-1)!, versions: [...versions] }))
      },
    }),

    delete: endpoint({
      description: 'Deletes a record, if it exists.',
      request: Type.Object({ key: Key, options: Condition }),
      response: Type.Object({}),
      async handle({ key, options }, ctx) {
        await store.commit([{ table: tableOf(options, ctx), key, ...toCondition(options) }])
        return {}
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Streams keys in at least one message, with at most 1000 keys per message.',
      request: Type.Object({ options: ListOptionsSchema }),
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
        let remaining = limit === 0 ? Number.POSITIVE_INFINITY : limit
        for (;;) {
          const { records, next } = await store.list(table, query, ctx.signal)
          if (records.length === 0) await requireDatabase(store, options.database, IN_OPTIONS, ctx)
          yield { keys: records.map(({ key }) => key) }
          remaining -= records.length
          if (next === undefined || remaining === 0) return
          query = { ...query, after: next, offset: 0, limit: limit === 0 ? 0 : remaining }
        }
      },
    }),

    databases: endpoint({
      readOnly: true,
      description: 'Lists databases with records, paginated.',
      request: Type.Object({ ...Paging }),
      response: Type.Object({ databases: Type.Array(Type.String()), next: NextName }),
      async handle({ limit, after }, ctx) {
        mustBeOperator(ctx, idOf(ctx))
        const count = toPageLimit(limit)
        const query = { limit: count + 1, ...(after !== '' && { after }) }
        const databaseNames = await store.listDatabases(query, ctx.signal)
        const databases = databaseNames.slice(0, count)
        return { databases, ...toNextCursor(databases, databaseNames) }
      },
    }),

    tables: endpoint({
      readOnly: true,
      description: 'Lists tables of a database with records, paginated.',
      request: Type.Object({ database: DatabaseName, ...Paging }),
      response: Type.Object({ tables: Type.Array(Type.String()), next: NextName }),
      async handle({ database: databaseOption, limit, after }, ctx) {
        const database = databaseOption || toNamespace(ctx, idOf(ctx))
        mustBeAdmin(ctx, database, idOf(ctx))
        const count = toPageLimit(limit)
        const cursor = after === '' ? {} : { after: { database, table: after } }
        const tableNames = await store.listTables(
          { database, limit: count + 1, ...cursor },
          ctx.signal,
        )
        if (tableNames.length === 0)
          await requireDatabase(store, databaseOption, 'request.database', ctx)
        const tables = tableNames.slice(0, count).map(({ table }) => table)
        return { tables, ...toNextCursor(tables, tableNames) }
      },
    }),

    watch: endpoint({
      readOnly: true,
      description: 'Streams all further changes. The stream starts immediately.',
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

/**
 * Returns the id used in errors (reference 6), such as `store.Store.Read`, without the caller's
 * namespace prefix.
 */
function idOf(ctx: Context): string {
  return `store.${ctx.endpoint}`
}

/** Returns the table of a request. Each namespace has its own database. */
function toTable({ database, table }: TableOptions, ctx: Context): StoreTable {
  return { database: database || toNamespace(ctx, idOf(ctx)), table: table || DEFAULT_TABLE }
}

function toPageLimit(limit: number): number {
  return Math.min(limit || MAX_PAGE, MAX_PAGE)
}

/** Returns the cursor of the next page if there are more results than fit into the page. */
function toNextCursor(
  page: readonly string[],
  results: readonly unknown[],
): { readonly next?: string } {
  return results.length === page.length ? {} : { next: page.at(-1)! }
}

function toCondition({ version }: { readonly version?: number }): { readonly ifVersion?: number } {
  return version === undefined ? {} : { ifVersion: version }
}

/** Returns whether the request reads several records. */
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

/**
 * Returns the prefix or suffix of keys: the key if the flag is true, or the text of the option.
 */
function toParts(key: string, { prefix, suffix }: ReadOptions, id: string): StoreQuery {
  if (key !== '' && prefix !== true && suffix !== true)
    throw badRequest(
      id,
      'request.key must be empty unless request.options.prefix or suffix is true',
    )
  const toText = (part: boolean | string): string => (part === true ? key : part || '')
  return { prefix: toText(prefix), suffix: toText(suffix) }
}
