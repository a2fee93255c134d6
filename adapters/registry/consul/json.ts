import type { Endpoint } from '../../../core/contracts/registry.ts'
import {
  isRecord,
  readEndpoint as readFields,
  readMap as readTexts,
} from '../../../core/entry-reader.ts'

export { isRecord }

/** Most pairs read of a map. */
const MAX_PAIRS = 256

/** An object's own member of type string; empty when there is none. */
export function readText(record: Readonly<Record<string, unknown>>, key: string): string {
  const value = Object.hasOwn(record, key) ? record[key] : undefined
  return typeof value === 'string' ? value : ''
}

/** The texts of a map: of its first 256 pairs. */
export function readMap(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return readTexts(Object.fromEntries(Object.entries(value).slice(0, MAX_PAIRS)))
}

/** @throws {SyntaxError} naming what is wrong. */
export function readEndpoint(value: Readonly<Record<string, unknown>>): Endpoint {
  if (readText(value, 'name') === '') throw new SyntaxError('an endpoint must have a name')
  return { ...readFields(value), metadata: readMap(value['metadata']) }
}
