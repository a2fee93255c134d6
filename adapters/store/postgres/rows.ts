import type { StoreRecord, StoreTable } from '../../../core/contracts/store.ts'
import type { Row } from './client/connections.ts'
import type { StoredVersion } from './evaluate-conditions.ts'

const NO_BYTES = new Uint8Array(0)
const NO_METADATA = {}

/** @param row key, expires and version; value and metadata unless only keys were requested. */
export function toRecord([key, expires, version, value, metadata]: Row): StoreRecord {
  return {
    key: key!,
    // `\x` and hexadecimal digits.
    value: value == null ? NO_BYTES : Buffer.from(value.slice(2), 'hex'),
    metadata: metadata == null ? NO_METADATA : (JSON.parse(metadata) as Record<string, string>),
    expiresMs: Number(expires),
    version: Number(version),
  }
}

export function toStoredVersion(expires: string | null, version: string | null): StoredVersion {
  return { expiresMs: Number(expires), version: Number(version) }
}

/** @param row database and table. */
export function toTable([database, table]: Row): StoreTable {
  return { database: database!, table: table! }
}
