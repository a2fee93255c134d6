import type { StoreTable } from '../../core/contracts/store.ts'
import { forbidden } from '../../sdk/errors.ts'
import { toBlobTables } from './blobs.ts'

/** Tables that built-in services keep their own things in, and whose they are. */
const RESERVED: ReadonlyMap<string, string> = new Map([
  ['acme', 'certificates'],
  ['auth', 'the service auth'],
  ['config', 'the service config'],
  ['runtime', 'the service runtime'],
  ...Object.values(toBlobTables('')).map(({ table }) => [table, 'BlobStore'] as const),
])

/**
 * Refuses what goes around the service whose table it is: it would read secrets as they are stored, or tear what belongs together.
 *
 * @throws {GatewayError} 403
 */
export function refuseReserved({ table }: StoreTable, id: string): void {
  const owner = RESERVED.get(table)
  if (owner === undefined) return
  throw forbidden(
    id,
    `the table ${table} is reserved for ${owner}, which alone reads and writes it; name another`,
  )
}
