import type { StoreTable } from '../../core/contracts/store.ts'
import { forbidden } from '../../sdk/errors.ts'
import { findTableOwner } from '../../sdk/store/reserved-tables.ts'

/**
 * Refuses what goes around the service whose table it is: it would read secrets as they are stored, or tear what belongs together.
 *
 * @throws {GatewayError} 403
 */
export function rejectReserved({ table }: StoreTable, id: string): void {
  const owner = findTableOwner(table)
  if (owner === undefined) return
  throw forbidden(
    id,
    `the table ${table} is reserved for ${owner}, which alone reads and writes it; name another`,
  )
}
