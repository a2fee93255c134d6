import { randomUUID } from 'node:crypto'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import type { Store, StoreWrite } from '../../domain/store/store.ts'
import { conflict, notFound, ServiceError } from '../../sdk/errors.ts'

export interface BlobDetails {
  readonly contentType: string
  readonly isPublic: boolean
}

export interface Blob extends BlobDetails {
  readonly bytes: number
  readonly parts: AsyncIterable<Uint8Array>
}

/**
 * Values of any length, stored as several records. A blob becomes visible completely or not at all.
 */
export interface Blobs {
  /** @throws {GatewayError} 404 */
  readonly read: (namespace: string, key: string) => Promise<Blob>
  /**
   * Writes a blob, replacing an existing one once the last chunk has arrived.
   *
   * @throws {GatewayError} 413 if it is too large.
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
  /** Maximum length of a blob in bytes. */
  readonly maxBytes: number
  readonly nowMs: () => number
}

/** Part size in bytes. The limit of records may be lower. */
const PART_BYTES = 256 * 1024
/** Timeout of an upload. */
const MAX_UPLOAD_MS = 86_400_000
/** Number of incomplete uploads that a new upload cleans up. */
const CLEANUP_BATCH = 10
const NO_VALUE = new Uint8Array(0)
const ID = 'store'

/** Tables of the blobs of a namespace. */
export interface BlobTables {
  /** Heads of existing blobs. */
  readonly heads: StoreTable
  readonly parts: StoreTable
  /** Blobs whose parts are orphaned unless their upload completes. */
  readonly loose: StoreTable
}

export function toBlobTables(namespace: string): BlobTables {
  const toTable = (table: string): StoreTable => ({ database: namespace, table })
  return { heads: toTable('blobs'), parts: toTable('blobs.parts'), loose: toTable('blobs.loose') }
}

export function createBlobs({ store, maxBytes, nowMs }: BlobsOptions): Blobs {
  const partBytes = Math.min(PART_BYTES, store.maxValueBytes)

  /** Deletes the parts of a deleted blob. */
  async function drop(namespace: string, id: string, orphanKey: string): Promise<void> {
    const { parts, loose } = toBlobTables(namespace)
    for (;;) {
      const { records } = await store.list(parts, { prefix: `${id}/`, keysOnly: true })
      if (records.length === 0) break
      await store.commit(records.map(({ key }) => ({ table: parts, key })))
    }
    await store.commit([{ table: loose, key: orphanKey }])
  }

  /** Deletes the parts of interrupted uploads. */
  async function deleteOrphans(namespace: string): Promise<void> {
    const to = toLooseKey(nowMs() - MAX_UPLOAD_MS, '')
    const { records } = await store.list(toBlobTables(namespace).loose, {
      to,
      limit: CLEANUP_BATCH,
    })
    for (const { key } of records) await drop(namespace, key.slice(key.indexOf('/') + 1), key)
  }

  /** Replaces or deletes the head of a blob, handling concurrent changes. */
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
      const orphanKey = toLooseKey(nowMs(), oldId)
      const writes: StoreWrite[] = [
        { ...change, table: heads, key, ifVersion: old?.version ?? 0 },
        ...more,
      ]
      if (oldId !== '') writes.push({ table: loose, key: orphanKey, value: NO_VALUE })
      try {
        await store.commit(writes)
      } catch (error) {
        const now = await store.read(heads, key)
        const isRace = error instanceof ServiceError && error.code === 409
        if (isRace && now?.version !== old?.version) continue
        throw error
      }
      if (oldId !== '') await drop(namespace, oldId, orphanKey)
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
              throw conflict(ID, `${key} was written or deleted while it was being read`)
            yield part.value
          }
        })(),
      }
    },

    async write(namespace, key, { contentType, isPublic }, chunks) {
      await deleteOrphans(namespace)
      const { parts, loose } = toBlobTables(namespace)
      const id = randomUUID()
      const orphanKey = toLooseKey(nowMs(), id)
      const [ifVersion] = await store.commit([{ table: loose, key: orphanKey, value: NO_VALUE }])
      let count = 0
      let bytes = 0
      try {
        for await (const value of split(chunks, partBytes)) {
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
        // Conflicts if the parts were cleaned up in the meantime.
        await replace(namespace, key, { value: NO_VALUE, metadata }, [
          { table: loose, key: orphanKey, ifVersion: ifVersion! },
        ])
        return bytes
      } catch (error) {
        // Parts that cannot be deleted now are deleted by a later upload.
        await drop(namespace, id, orphanKey).catch(() => {})
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

/** Returns the key, which sorts by time, oldest first. */
function toLooseKey(nowMs: number, id: string): string {
  return `${String(Math.max(0, Math.floor(nowMs))).padStart(16, '0')}/${id}`
}

/** Splits a stream into parts of equal length. The last part may be shorter. */
async function* split(
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = []
  let bytes = 0
  for await (let chunk of chunks) {
    while (bytes + chunk.length >= partBytes) {
      const end = partBytes - bytes
      yield Buffer.concat([...pending, chunk.subarray(0, end)])
      chunk = chunk.subarray(end)
      pending = []
      bytes = 0
    }
    pending.push(chunk)
    bytes += chunk.length
  }
  if (bytes > 0) yield Buffer.concat(pending)
}
