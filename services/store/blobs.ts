import { randomUUID } from 'node:crypto'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import { conflict, notFound, ServiceError } from '../../sdk/errors.ts'

/** What is said about a blob. */
export interface BlobDetails {
  readonly contentType: string
  readonly isPublic: boolean
}

/** A blob to read. */
export interface Blob extends BlobDetails {
  readonly bytes: number
  readonly parts: AsyncIterable<Uint8Array>
}

/** Values of any length, as parts that are records: a blob is there as a whole, or not at all. */
export interface Blobs {
  /** @throws {GatewayError} 404 */
  readonly read: (namespace: string, key: string) => Promise<Blob>
  /**
   * Writes a blob, over one of its key, once its last part is there.
   *
   * @throws {GatewayError} 413 when it is too long.
   */
  readonly write: (
    namespace: string,
    key: string,
    details: BlobDetails,
    parts: AsyncIterable<Uint8Array>,
  ) => Promise<number>
  readonly delete: (namespace: string, key: string) => Promise<void>
}

export interface BlobsOptions {
  readonly store: Store
  /** Longest blob, bytes. */
  readonly maxBytes: number
  readonly nowMs: () => number
}

/** Bytes of a part; records may have to be shorter. */
const PART_BYTES = 256 * 1024
/** An upload that takes longer is given up. */
const MAX_UPLOAD_MS = 86_400_000
/** Uploads that were cut off, and are tidied up by one that begins. */
const TIDIED_AT_ONCE = 10
const NO_VALUE = new Uint8Array(0)
const ID = 'store'

/** Where the blobs of a namespace lie. */
export interface BlobTables {
  /** What there is. */
  readonly heads: StoreTable
  readonly parts: StoreTable
  /** Of which there are parts nobody needs, unless an upload ends well. */
  readonly loose: StoreTable
}

export function toBlobTables(namespace: string): BlobTables {
  const toTable = (table: string): StoreTable => ({ database: namespace, table })
  return { heads: toTable('blobs'), parts: toTable('blobs.parts'), loose: toTable('blobs.loose') }
}

export function createBlobs({ store, maxBytes, nowMs }: BlobsOptions): Blobs {
  const partBytes = Math.min(PART_BYTES, store.maxValueBytes)

  /** Deletes the parts of a blob that is there no more. */
  async function drop(namespace: string, id: string, looseKey: string): Promise<void> {
    const { parts, loose } = toBlobTables(namespace)
    for (;;) {
      const { records } = await store.list(parts, { prefix: `${id}/`, keysOnly: true })
      if (records.length === 0) break
      await store.commit(records.map(({ key }) => ({ table: parts, key })))
    }
    await store.commit([{ table: loose, key: looseKey }])
  }

  /** What a process that ended in the middle left behind. */
  async function tidy(namespace: string): Promise<void> {
    const to = toLooseKey(nowMs() - MAX_UPLOAD_MS, '')
    const { records } = await store.list(toBlobTables(namespace).loose, {
      to,
      limit: TIDIED_AT_ONCE,
    })
    for (const { key } of records) await drop(namespace, key.slice(key.indexOf('/') + 1), key)
  }

  /** Puts a head, or none, in the place of what is there, whoever else does the same. */
  async function replace(
    namespace: string,
    key: string,
    change: Omit<StoreWrite, 'table' | 'key'>,
    more: readonly StoreWrite[],
  ): Promise<void> {
    const { heads, loose } = toBlobTables(namespace)
    for (;;) {
      const old = await store.read(heads, key)
      if (old === undefined && change.value === undefined) return
      const oldId = old?.metadata['id'] ?? ''
      const looseKey = toLooseKey(nowMs(), oldId)
      const writes: StoreWrite[] = [
        { ...change, table: heads, key, ifVersion: old?.version ?? 0 },
        ...more,
      ]
      if (oldId !== '') writes.push({ table: loose, key: looseKey, value: NO_VALUE })
      try {
        await store.commit(writes)
      } catch (error) {
        const now = await store.read(heads, key)
        const isRace = error instanceof ServiceError && error.code === 409
        if (isRace && now?.version !== old?.version) continue
        throw error
      }
      if (oldId !== '') await drop(namespace, oldId, looseKey)
      return
    }
  }

  return {
    async read(namespace, key) {
      const { heads, parts } = toBlobTables(namespace)
      const head = await store.read(heads, key)
      if (head === undefined) throw notFound(ID, `not found: ${key}`)
      const { id, contentType, isPublic, bytes, count } = parseHead(head)
      return {
        contentType,
        isPublic,
        bytes,
        parts: (async function* () {
          for (let i = 0; i < count; i++) {
            const part = await store.read(parts, toPartKey(id, i))
            if (part === undefined)
              throw conflict(ID, `${key} was written or deleted while it was read`)
            yield part.value
          }
        })(),
      }
    },

    async write(namespace, key, { contentType, isPublic }, given) {
      await tidy(namespace)
      const { parts, loose } = toBlobTables(namespace)
      const id = randomUUID()
      const looseKey = toLooseKey(nowMs(), id)
      const [ifVersion] = await store.commit([{ table: loose, key: looseKey, value: NO_VALUE }])
      let count = 0
      let bytes = 0
      try {
        for await (const value of cut(given, partBytes)) {
          bytes += value.length
          if (bytes > maxBytes)
            throw new ServiceError(ID, 413, `a blob must be at most ${maxBytes} bytes`)
          await store.commit([{ table: parts, key: toPartKey(id, count++), value }])
        }
        const metadata = {
          id,
          type: contentType,
          public: String(isPublic),
          bytes: String(bytes),
          parts: String(count),
        }
        // Were its parts tidied up meanwhile, there is no such version any more.
        await replace(namespace, key, { value: NO_VALUE, metadata }, [
          { table: loose, key: looseKey, ifVersion: ifVersion! },
        ])
        return bytes
      } catch (error) {
        // What cannot be deleted now is by a later upload.
        await drop(namespace, id, looseKey).catch(() => {})
        throw error
      }
    },

    delete: (namespace, key) => replace(namespace, key, {}, []),
  }
}

function parseHead({ metadata }: StoreRecord) {
  return {
    id: metadata['id'] ?? '',
    contentType: metadata['type'] ?? '',
    isPublic: metadata['public'] === 'true',
    bytes: Number(metadata['bytes'] ?? 0),
    count: Number(metadata['parts'] ?? 0),
  }
}

function toPartKey(id: string, index: number): string {
  return `${id}/${String(index).padStart(8, '0')}`
}

/** By the time, so that the oldest are first. */
function toLooseKey(nowMs: number, id: string): string {
  return `${String(Math.max(0, Math.floor(nowMs))).padStart(16, '0')}/${id}`
}

/** The same bytes in parts of one length, but for the last. */
async function* cut(
  given: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for await (let chunk of given) {
    while (bytes + chunk.length >= partBytes) {
      const end = partBytes - bytes
      yield Buffer.concat([...waiting, chunk.subarray(0, end)])
      chunk = chunk.subarray(end)
      waiting = []
      bytes = 0
    }
    waiting.push(chunk)
    bytes += chunk.length
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}
