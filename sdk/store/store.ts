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

/** How the calls of a store are made: on whose behalf, how long, until when. */
export type StoreCallOptions = Pick<
  CallOptions,
  'context' | 'namespace' | 'signal' | 'timeoutMs' | 'retries' | 'address'
>

/** Where a store's records lie. */
export interface StoreOptions extends StoreCallOptions {
  /** @default the namespace of the call, else `mx` */
  readonly database?: string
  /** @default the service's name; of a client `mx` */
  readonly table?: string
}

/** Which records, in what order. */
export interface StoreRange extends StoreCallOptions {
  /** Leaves so many out, from the start. @default 0 */
  readonly offset?: number
  /** Most records of all; 0: no limit. @default 0 */
  readonly limit?: number
  /** Of the bytes of their keys in UTF-8. @default 'asc' */
  readonly order?: 'asc' | 'desc'
  /** First key. @default the first there is */
  readonly from?: string
  /** Where to stop, itself left out. @default behind the last */
  readonly to?: string
}

/** What to read. */
export interface StoreReadOptions extends StoreRange {
  /** What keys begin with; true: the key that is given. */
  readonly prefix?: string | boolean
  /** What keys end with; true: the key that is given. All that begin as they should are looked through. */
  readonly suffix?: string | boolean
}

/** What to list. */
export interface StoreListOptions extends StoreRange {
  /** What keys begin with. */
  readonly prefix?: string
  /** What keys end with. */
  readonly suffix?: string
}

/** On what condition. */
export interface StoreDeleteOptions extends StoreCallOptions {
  /** The version the record must have; 0: there must be none. Otherwise the call rejects with 409. @default whatever is there */
  readonly version?: number
}

/** How to write. */
export interface StoreWriteOptions extends StoreDeleteOptions {
  /** Seconds until the record ends, whole ones; 0: never. @default 0 */
  readonly expirySeconds?: number
  /** What is said about the record: texts, or fields with a type. */
  readonly metadata?: Readonly<Record<string, string | StoreField>>
}

/** What to watch. */
export interface StoreWatchOptions extends StoreCallOptions {
  /** What keys begin with. @default '' */
  readonly prefix?: string
}

/**
 * Records of one table, kept by the service `store` (specification: Store record, Library-level operations).
 *
 * What fails is a `ServiceError`: 400 naming what is malformed, or read from in a database without records that is not the caller's
 * own; 404, 409 for a condition that does not hold, 503 when the store cannot be reached, 507 when it is full.
 */
export interface Store {
  /**
   * Reads the record of a key, or with options all whose keys are as they say, in the order of their keys.
   *
   * @param key empty where the options say which.
   * @throws {ServiceError} 404 when there is no record of the key; where there may be several, none is an empty list.
   */
  readonly read: (key: string, options?: StoreReadOptions) => Promise<StoreRecord[]>
  /**
   * Writes a record, over one of its key.
   *
   * @param value bytes, text as UTF-8, or what JSON can say.
   * @returns its version, higher than any the key has had.
   */
  readonly write: (key: string, value: unknown, options?: StoreWriteOptions) => Promise<number>
  /** Deletes a record; one that is not there does not matter. */
  readonly delete: (key: string, options?: StoreDeleteOptions) => Promise<void>
  /** Keys, in order. */
  readonly list: (options?: StoreListOptions) => Promise<string[]>
  /**
   * What changes from now on, expiry included: of each key what is there when it is its turn, now and then twice. Leaving the
   * loop ends it. It throws 503 when changes may have been missed, or the store is stopped, and 502 when it is lost: then begin again, and read what
   * is there.
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

/** How the service is called, and what it is sent besides the request proper. */
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
  /** Of several records. */
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
 * @param owner the service whose table it is, or a client.
 * @throws {TypeError} for an unknown option, here and by each method.
 */
export function createStore(owner: Client | Service<object>, options: StoreOptions = {}): Store {
  rejectUnknownOptions('createStore', options, TABLE)
  const { database, table = owner instanceof Service ? owner.name : undefined, ...base } = options
  const client = owner instanceof Service ? owner.client : owner

  /** Options of one method: how it is called, and what is sent. */
  function split<T extends StoreCallOptions>(
    what: string,
    given: T,
    known: KnownOptions<T>,
  ): Options {
    if (given === DEFAULT) return own
    rejectUnknownOptions(`store.${what}`, given, known)
    return toOptions(given)
  }

  function toOptions(given: StoreCallOptions): Options {
    const call: Record<string, unknown> = { ...base }
    const sent: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(given))
      if (value !== undefined) (Object.hasOwn(CALL, name) ? call : sent)[name] = value
    const { namespace, context } = call as CallOptions
    const within = database ?? namespace ?? context?.namespace
    return {
      call: call as CallOptions,
      sent: { ...sent, ...(within && { database: within }), ...(table && { table }) },
    }
  }

  /** Of calls without options. */
  const own = toOptions(DEFAULT)
  /** Writes without options. */
  const joined = createStoreWrites(
    async (records) => {
      const what = records.length === 1 ? { record: records[0] } : { records }
      const request = { ...what, options: own.sent }
      const reply = await client.call<WireVersion>(SERVICE, 'Store.Write', request, own.call)
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
      const left = limit - records.length
      if (next === undefined || left === 0) return records
      const rest = { after: next, offset: 0, limit: limit === 0 ? 0 : left }
      ;({ records: found, next } = await readPage(key, { ...sent, ...rest }, call))
      for (const record of found) records.push(toStoreRecord(record))
    }
  }

  return {
    read: (key, options = DEFAULT) =>
      options === DEFAULT
        ? readPage(key, own.sent, own.call).then(toStoreRecords)
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

/** A stream is never repeated. */
function toStreaming({ retries: _, ...call }: CallOptions): CallOptions {
  return call
}

function toEvent({ action, key, record }: WireEvent): StoreEvent {
  return { action, key, ...(record !== undefined && { record: toStoreRecord(record) }) }
}
