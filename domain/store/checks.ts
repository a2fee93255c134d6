import type { StoreChange, StoreGroup, StoreTable } from '../../core/contracts/store.ts'
import { storeError } from './errors.ts'
import {
  isKeyPart,
  isStoreKey,
  isTableName,
  MAX_EXPIRES_MS,
  MAX_KEY_BYTES,
  MAX_METADATA_BYTES,
  sizeOfMetadata,
} from './limits.ts'
import type { StoreQuery } from './page.ts'

/** @throws {GatewayError} 400 */
export function checkTable({ database, table }: StoreTable): void {
  checkName('database', database)
  checkName('table', table)
}

/** @throws {GatewayError} 400 */
export function checkName(what: string, name: unknown): void {
  if (isTableName(name)) return
  const rule = 'must be letters, digits and inner dots, dashes or underscores, at most 253'
  throw storeError(400, `${what} ${rule}, got ${show(name)}`)
}

/** @throws {GatewayError} 400 */
export function checkKey(key: unknown): void {
  if (isStoreKey(key)) return
  throw storeError(
    400,
    `key must be 1 to ${MAX_KEY_BYTES} bytes of UTF-8 without NUL, got ${show(key)}`,
  )
}

/** @throws {GatewayError} 400 */
export function checkPart(what: string, text: unknown): void {
  if (isKeyPart(text)) return
  throw storeError(
    400,
    `${what} must be at most ${MAX_KEY_BYTES} bytes of UTF-8 without NUL, got ${show(text)}`,
  )
}

/** @throws {GatewayError} 400 */
export function checkQuery(query: StoreQuery): void {
  const { offset = 0, limit = 0 } = query
  for (const name of ['prefix', 'suffix', 'from', 'to', 'after'] as const)
    if (query[name] !== undefined) checkPart(name, query[name])
  checkNumber('offset', offset, Number.MAX_SAFE_INTEGER)
  checkNumber('limit', limit, Number.MAX_SAFE_INTEGER)
}

function checkNumber(what: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= max) return
  throw storeError(400, `${what} must be a whole number from 0 to ${max}, got ${show(value)}`)
}

/** @throws {GatewayError} 400 if a key occurs twice. */
export function checkApart(group: StoreGroup): void {
  if (group.length < 2) return
  const names = new Set<string>()
  for (const { table, key } of group) {
    const name = `${table.database}\0${table.table}\0${key}`
    if (names.has(name))
      throw storeError(400, `keys must be unique, got the duplicate ${show(key)}`)
    names.add(name)
  }
}

/** @throws {GatewayError} 400 */
export function checkChange(change: StoreChange, maxValueBytes: number): void {
  const { table, key, value, metadata, expiresMs, ifVersion } = change
  checkTable(table)
  checkKey(key)
  if (value !== undefined && value.length > maxValueBytes)
    throw storeError(400, `value must be at most ${maxValueBytes} bytes, got ${value.length}`)
  if (sizeOfMetadata(metadata) > MAX_METADATA_BYTES)
    throw storeError(
      400,
      `metadata must contain only strings, with at most ${MAX_METADATA_BYTES} bytes as JSON`,
    )
  checkNumber('expiresMs', expiresMs, MAX_EXPIRES_MS)
  if (ifVersion !== undefined) checkNumber('ifVersion', ifVersion, Number.MAX_SAFE_INTEGER)
}

/** Quotes a value for an error message. */
export function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? String(value)
}
