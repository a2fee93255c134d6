import type { Store } from '../../domain/store/store.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'

/**
 * Rejects a read without results from an explicitly named database that has no records, because its
 * name is probably misspelled. The default database may be empty.
 *
 * @param database database in the request; empty for the database of the namespace.
 * @param field field of the request.
 * @throws {GatewayError} 400
 */
export async function requireDatabase(
  store: Store,
  database: string,
  field: string,
  ctx: Context,
): Promise<void> {
  const id = `store.${ctx.endpoint}`
  if (database === '' || database === toNamespace(ctx, id)) return
  const tables = await store.listTables({ database, limit: 1 }, ctx.signal)
  if (tables.length > 0) return
  throw badRequest(
    id,
    `${field} must be a database with records, as listed by store/databases, got ${JSON.stringify(database)}`,
  )
}
