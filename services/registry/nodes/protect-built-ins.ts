import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { isBuiltInService } from '../../../core/registry/built-in-services.ts'
import { conflict } from '../../../sdk/errors.ts'
import { queryRegistry } from '../query.ts'

/**
 * Rejects the removal of built-in services of this process, which would be unknown until their next
 * heartbeat. Services of other servers may have died and may be removed.
 *
 * @param address address of the process; undefined if it runs no built-in services.
 * @throws {GatewayError} 409
 */
export async function rejectBuiltInNodes(
  { name, nodes }: Service,
  registry: Registry,
  address: string | undefined,
  id: string,
): Promise<void> {
  if (!isBuiltInService(name) || address === undefined) return
  const versions = await queryRegistry(registry, id, () => registry.getService(name))
  const builtIns = new Set(
    versions
      .flatMap((version) => version.nodes)
      .filter((node) => node.address === address)
      .map((node) => node.id),
  )
  const builtIn = nodes.find((node) => builtIns.has(node.id))
  if (builtIn === undefined) return
  throw conflict(
    id,
    `node ${builtIn.id} of ${name} belongs to this server and cannot be deregistered while the server is running`,
  )
}
