/** A record of the service `store` (specification: Store record). */
export interface StoredRecord {
  readonly key: string
  /** Base64. */
  readonly value: string
  /** Remaining seconds when it was read; 0 for no expiry. */
  readonly expiry: number
  readonly metadata: Readonly<Record<string, { readonly type: string; readonly value: string }>>
  readonly version: number
}

export interface ReadRecord extends StoredRecord {
  /** Unix time in milliseconds when it was read. */
  readonly readMs: number
}

/** Size of the value in bytes. */
export function sizeOf({ value }: Pick<StoredRecord, 'value'>): number {
  const padding = value.endsWith('==') ? 2 : value.endsWith('=') ? 1 : 0
  return (value.length / 4) * 3 - padding
}

/** Expiry in seconds that preserves the expiry time of a record; 0 for none. */
export function toExpiryLeft(
  { expiry, readMs }: Pick<ReadRecord, 'expiry' | 'readMs'>,
  nowMs: number,
): number {
  // At least 1, because a record that has just expired must not become permanent.
  return expiry === 0 ? 0 : Math.max(1, Math.round(expiry - (nowMs - readMs) / 1000))
}
