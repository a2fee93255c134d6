/** A record as the service `store` tells it (specification: Store record). */
export interface StoredRecord {
  readonly key: string
  /** Base64. */
  readonly value: string
  /** Seconds until it ends, when it was read; 0: never. */
  readonly expiry: number
  readonly metadata: Readonly<Record<string, { readonly type: string; readonly value: string }>>
  readonly version: number
}

/** A record, and when it was read. */
export interface ReadRecord extends StoredRecord {
  /** Unix time in milliseconds. */
  readonly readMs: number
}

/** Of {@link StoredRecord.value}. */
export function sizeOf({ value }: Pick<StoredRecord, 'value'>): number {
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0
  return (value.length / 4) * 3 - padding
}

/** What to write so that a record ends when it would have: seconds; 0: never. */
export function toExpiryLeft(
  { expiry, readMs }: Pick<ReadRecord, 'expiry' | 'readMs'>,
  nowMs: number,
): number {
  // One that has just ended must not become one that never does.
  return expiry === 0 ? 0 : Math.max(1, Math.round(expiry - (nowMs - readMs) / 1000))
}
