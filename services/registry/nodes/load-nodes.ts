import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { queryRegistry } from '../query.ts'

/** A version of a service in a list. */
export interface Listed {
  readonly service: Service
  readonly registry: Registry
}

/** Maximum number of concurrent node queries. */
const BATCH = 16

/**
 * Adds the nodes to services, preserving their order, if their registry lists services without
 * nodes. Each service requires one query.
 *
 * @param id id used in the error.
 * @throws {GatewayError} same errors as {@link queryRegistry}.
 */
export async function* withNodes<T extends Listed>(
  listed: readonly T[],
  id: string,
): AsyncGenerator<T> {
  for (let first = 0; first < listed.length; first += BATCH) {
    const batch = listed.slice(first, first + BATCH)
    const isComplete = batch.every(({ service }) => service.nodes.length > 0)
    yield* isComplete ? batch : await complete(batch, id)
  }
}

async function complete<T extends Listed>(batch: readonly T[], id: string): Promise<readonly T[]> {
  const completed = batch.map(async (item): Promise<T> => {
    const { registry, service } = item
    const { name, version, nodes } = service
    if (nodes.length > 0) return item
    const versions = await queryRegistry(registry, id, () => registry.getService(name))
    const match = versions.find((other) => other.version === version)
    return match === undefined ? item : { ...item, service: match }
  })
  return Promise.all(completed)
}
