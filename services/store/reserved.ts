import type { StoreTable } from '../../core/contracts/store.ts'
import { forbidden } from '../../sdk/errors.ts'
import { findTableOwner } from '../../sdk/store/reserved-tables.ts'

/**
 * Rejects access to tables of built-in services, which would bypass encryption and consistency.
 *
 * @throws {GatewayError} 403
 */
export function rejectReserved({ table }: StoreTable, id: string): void {
  const owner = findTableOwner(table)
  if (owner === undefined) return
  throw forbidden(id, `the table ${table} is reserved for ${owner}; choose another table`)
}
