import type { StoreRecord } from '../../core/contracts/store.ts'
import { GatewayError } from '../../core/errors.ts'

const FORMAT = 1

/** Encodes a value as a JSON record. */
export function encodeRecord(content: object): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...content }))
}

/**
 * Decodes a record from {@link encodeRecord}.
 *
 * @param table table of the record, named after its service; used in the error.
 * @throws {GatewayError} 500
 */
export function decodeRecord<T extends object>(
  { key, value }: StoreRecord,
  table: string,
  isComplete: (content: T) => boolean,
): T {
  let content: (T & { readonly format?: unknown }) | undefined
  try {
    content = JSON.parse(Buffer.from(value).toString())
  } catch {
    // The error is reported below.
  }
  if (content?.format !== FORMAT || !isComplete(content))
    throw new GatewayError(
      table,
      500,
      `record ${key} of table ${table} has an unknown format: it was written by another program or a newer version of mx`,
    )
  const { format, ...rest } = content
  return rest as unknown as T
}
