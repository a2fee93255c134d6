import type { KnownOptions } from '../../lib/object/known-options.ts'
import { rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { beginLater } from '../client/deferred-start.ts'
import { toWatchStream } from '../client/streams/watch-stream.ts'
import { findInternals } from '../internal/internals.ts'
import { Service } from '../service/service.ts'
import {
  type StoreEvent,
  type StoreField,
  type StoreRecord,
  toStoreRecord,
  toWire,
  type WireRecord,
} from './store-record.ts'
import { createStoreWrites } from './store-writes.ts'

/** Call options of store methods. */
export type StoreCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** Database and table of a store. */
export interface StoreOptions extends StoreCallOptions {
  /** Database of the table. @default the namespace of the call, else `mx` */
  readonly database?: string
  /** Table name. @default the service's name; `mx` for a client */
  readonly table?: string
}

/** Range and order of keys. */
export interface StoreRange extends StoreCallOptions {
  /** Number of records to skip. @default 0 */
  readonly offset?: number
  /** Maximum number of records; 0 for no limit. @default 0 */
  readonly limit?: number
  /** Order by the UTF-8 bytes of keys. @default 'asc' */
  readonly order?: 'asc' | 'desc'
  /** First key, inclusive. @default the first key */
  readonly from?: string
  /** Last key, exclusive. @default unlimited */
  readonly to?: string
}

/** Options of {@link Store.read}. */
export interface StoreReadOptions extends StoreRange {
  /** Key prefix; true to use the `key` argument. */
  readonly prefix?: string | boolean
  /** Key suffix; true to use the `key` argument. Scans all keys with the prefix. */
  readonly suffix?: string | boolean
}

/** Options of {@link Store.list}. */
export interface StoreListOptions extends StoreRange {
  /** Prefix of keys. */
  readonly prefix?: string
  /** Suffix of keys. */
  readonly suffix?: string
}

/** Options of {@link Store.delete}. */
export interface StoreDeleteOptions extends StoreCallOptions {
  /**
   * Expected version; 0 if the record must not exist. If the version differs, the call rejects with
   * 409.
   * @default any
   */
  readonly version?: number
}

/** Options of {@link Store.write}. */
export interface StoreWriteOptions extends StoreDeleteOptions {
  /** Integer seconds until the record expires; 0 for never. @default 0 */
  readonly expirySeconds?: number
  /** Metadata: strings, or typed fields. */
  readonly metadata?: Readonly<Record<string, string | StoreField>>
}

/** Options of {@link Store.watch}. */
export interface StoreWatchOptions extends StoreCallOptions {
  /** Prefix of keys. @default '' */
  readonly prefix?: string
}

/**
 * Records of one table, stored by the `store` service (specification: Store record, Library-level operations).
 *
 * Methods reject with a `ServiceError`: 400 for malformed input, or a read of an empty database of another namespace;
 * 404 for a missing record; 409 for a failed condition; 503 if the store is unavailable; 507 if it is full.
 */
export interface Store {
  /**
   * Reads the record of a key or, with options, all records with matching keys, in key order.
   *
   * @param key key, empty if the options select the keys.
   * @throws {ServiceError} 404 if the key has no record. A query without matches returns an empty list.
   */
  readonly read: (key: string, options?: StoreReadOptions) => Promise<StoreRecord[]>
  /**
   * Writes a record, replacing any record with the same key.
   *
   * @param value bytes, a string (stored as UTF-8), or a JSON value.
   * @returns the new version, higher than all earlier versions of the key.
   */
  readonly write: (key: string, value: unknown, options?: StoreWriteOptions) => Promise<number>
  /** Deletes a record, if it exists. */
  readonly delete: (key: string, options?: StoreDeleteOptions) => Promise<void>
  /** Lists the keys in order. */
  readonly list: (options?: StoreListOptions) => Promise<string[]>
  /**
   * Watches future changes, including expiry. Yields the latest state of each changed key, possibly repeated. Leaving
   * the loop ends the watch. Throws 503 if changes may have been missed or the store stops, and 502 if the connection
   * is lost; start another watch and read the current state then.
   */
  readonly watch: (options?: StoreWatchOptions) => AsyncIterableIterator<StoreEvent>
}

const CALL: KnownOptions<StoreCallOptions> = {
  context: true,
  namespace: true,
  signal: true,
  timeoutMs: true,
  retries: true,
  address: true,
}
const TABLE: KnownOptions<StoreOptions> = { ...CALL, database: true, table: true }
const RANGE: KnownOptions<StoreRange> = {
  ...CALL,
  offset: true,
  limit: true,
  order: true,
  from: true,
  to: true,
}
const LIST: KnownOptions<StoreListOptions> = { ...RANGE, prefix: true, suffix: true }
const DELETE: KnownOptions<StoreDeleteOptions> = { ...CALL, version: true }
const WRITE: KnownOptions<StoreWriteOptions> = { ...DELETE, expirySeconds: true, metadata: true }
const WATCH: KnownOptions<StoreWatchOptions> = { ...CALL, prefix: true }
const SERVICE = 'store'
const DEFAULT = {}

/** Call options and request parameters. */
interface Options {
  readonly call: CallOptions
  readonly sent: Readonly<Record<string, unknown>>
}

interface WirePage {
  readonly records: readonly WireRecord[]
  readonly next?: string
}

interface WireVersion {
  readonly version: number
  /** Expected versions for several records. */
  readonly versions?: readonly number[]
}

interface WireEvent {
  readonly action: StoreEvent['action']
  readonly key: string
  readonly record?: WireRecord
}

/**
 * Opens a table of the platform's store.
 *
 * ```ts
 * const store = createStore(service)
 * await store.write('user/1', { name: 'Ann' })
 * const [record] = await store.read('user/1')
 * const users = await store.read('', { prefix: 'user/' })
 * ```
 *
 * @param owner service that owns the table, or a client.
 * @throws {TypeError} for an unknown option, here and in each method.
 */
export function createStore(owner: Client | Service<object>, options: StoreOptions = {}): Store {
  rejectUnknownOptions('createStore', options, TABLE)
  const { database, table = owner instanceof Service ? owner.name : undefined, ...base } = options
  const client = owner instanceof Service ? owner.client : owner

  /** Splits options into call options and request options. */
  function split<T extends StoreCallOptions>(
    method: string,
    callOptions: T,
    knownOptions: KnownOptions<T>,
  ): Options {
    if (callOptions === DEFAULT) return defaults
    rejectUnknownOptions(`store.${method}`, callOptions, knownOptions)
    return toOptions(callOptions)
  }

  function toOptions(callOptions: StoreCallOptions): Options {
    const call: Record<string, unknown> = { ...base }
    const sent: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(callOptions))
      if (value !== undefined) (Object.hasOwn(CALL, name) ? call : sent)[name] = value
    const { namespace, context } = call as CallOptions
    const within = database ?? namespace ?? context?.namespace
    return {
      call: call as CallOptions,
      sent: { ...sent, ...(within && { database: within }), ...(table && { table }) },
    }
  }

  /** Request parameters of calls without options. */
  const defaults = toOptions(DEFAULT)
  /** Batched writes for calls without options. */
  const joined = createStoreWrites(
    async (records) => {
      const body = records.length === 1 ? { record: records[0] } : { records }
      const request = { ...body, options: defaults.sent }
      const reply = await client.call<WireVersion>(SERVICE, 'Store.Write', request, defaults.call)
      return reply.versions ?? [reply.version]
    },
    (begin) => beginLater(client, begin),
  )

  const readPage = (key: string, query: object, call: CallOptions): Promise<WirePage> =>
    client.call(SERVICE, 'Store.Read', { key, options: query }, call)

  async function readAll(key: string, options: StoreReadOptions): Promise<StoreRecord[]> {
    const { call, sent } = split<StoreReadOptions>('read', options, LIST)
    const { limit = 0 } = options
    let { records: found, next } = await readPage(key, sent, call)
    const records = found.map(toStoreRecord)
    for (;;) {
      const remaining = limit - records.length
      if (next === undefined || remaining === 0) return records
      const rest = { after: next, offset: 0, limit: limit === 0 ? 0 : remaining }
      ;({ records: found, next } = await readPage(key, { ...sent, ...rest }, call))
      for (const record of found) records.push(toStoreRecord(record))
    }
  }

  return {
    read: (key, options = DEFAULT) =>
      options === DEFAULT
        ? readPage(key, defaults.sent, defaults.call).then(toStoreRecords)
        : readAll(key, options),

    write(key, value, options = DEFAULT) {
      try {
        if (options === DEFAULT) return joined.write(toWire(key, value))
        const { call, sent } = split<StoreWriteOptions>('write', options, WRITE)
        const { expirySeconds, metadata, ...rest } = sent as StoreWriteOptions
        const record = toWire(key, value, expirySeconds, metadata)
        const request = { record, options: rest }
        joined.flush()
        return client.call<WireVersion>(SERVICE, 'Store.Write', request, call).then(toVersion)
      } catch (error) {
        return Promise.reject(error)
      }
    },

    async delete(key, options = DEFAULT) {
      const { call, sent } = split('delete', options, DELETE)
      joined.flush()
      await client.call(SERVICE, 'Store.Delete', { key, options: sent }, call)
    },

    async list(options = DEFAULT) {
      const { call, sent } = split('list', options, LIST)
      const keys: string[] = []
      const request = { options: sent }
      const stream = client.stream<unknown, { keys: string[] }>(
        SERVICE,
        'Store.List',
        request,
        toStreaming(call),
      )
      for await (const message of stream) for (const key of message.keys) keys.push(key)
      return keys
    },

    watch(options = DEFAULT) {
      const { call, sent } = split('watch', options, WATCH)
      const request = { options: sent }
      return toWatchStream<WireEvent, StoreEvent>({
        open: () => client.stream(SERVICE, 'Store.Watch', request, toStreaming(call)),
        service: SERVICE,
        toEvent,
        tokens: call.context === undefined ? findInternals(client)?.tokens : undefined,
      })
    },
  }
}

function toVersion({ version }: WireVersion): number {
  return version
}

function toStoreRecords({ records }: WirePage): StoreRecord[] {
  return records.map(toStoreRecord)
}

/** Streams are never retried. */
function toStreaming({ retries: _, ...call }: CallOptions): CallOptions {
  return call
}

function toEvent({ action, key, record }: WireEvent): StoreEvent {
  return { action, key, ...(record !== undefined && { record: toStoreRecord(record) }) }
}
