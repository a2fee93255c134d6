import type { Service } from '../../core/contracts/registry.ts'
import { type Quota, quotaReached } from '../../core/limits/quota.ts'
import { formatSize } from '../../lib/text/units.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import type { Domain } from './domains.ts'
import { toEntryBytes, toNodeBytes } from './entry.ts'
import {
  MAX_SERVICE_BYTES,
  MAX_VERSION_BYTES,
  MAX_VERSION_NODES,
  MAX_VERSIONS,
  QUOTA_NODE_BYTES,
} from './limits.ts'

/**
 * Checks that a domain has capacity for a registration merged with existing entries, so that all
 * entries fit into responses.
 *
 * Existing entries may be registered again unless they grow.
 *
 * @param id id used in the error.
 * @param quota quota of nodes per domain.
 * @throws {GatewayError} 429 with the limit and the value that exceeds it.
 */
export function checkRoom(domain: Domain, service: Service, id: string, quota: Quota): void {
  const existing = domain.find(service)
  if (existing === undefined && domain.size() >= MAX_VERSIONS)
    throw tooManyRequests(id, `limit of ${MAX_VERSIONS} versions in ${domain.name} reached`)
  const nodesById = new Map(service.nodes.map((node) => [node.id, node]))
  const before = existing ?? { service: { ...service, nodes: [] }, bytes: 0 }
  const replaced = before.service.nodes.filter(({ id }) => nodesById.has(id))
  const nodes = before.service.nodes.length - replaced.length + nodesById.size
  const bytes =
    toEntryBytes({ ...service, nodes: [...nodesById.values()] }, domain.name) +
    (existing === undefined
      ? 0
      : existing.bytes - toEntryBytes({ ...existing.service, nodes: [] }, domain.name)) -
    replaced.reduce((sum, node) => sum + toNodeBytes(node), 0)
  const added = nodes - before.service.nodes.length
  const limit = quota.limitOf(domain.name)
  if (added > 0 && domain.nodes() + added > limit)
    throw quotaReached(id, 429, quota, {
      ...{ namespace: domain.name, limit: `${limit} nodes`, used: `${domain.nodes()}` },
      remedy: 'deregister nodes',
    })
  const name = `${service.name} ${service.version}`
  if (nodes > MAX_VERSION_NODES && nodes > before.service.nodes.length)
    throw tooManyRequests(
      id,
      `${name} must have at most ${MAX_VERSION_NODES} nodes, would have ${nodes}`,
    )
  if (bytes <= before.bytes) return
  if (bytes > MAX_VERSION_BYTES)
    throw tooManyRequests(
      id,
      `${name} must be at most ${MAX_VERSION_BYTES} bytes of JSON, would be ${bytes}`,
    )
  const all = domain.bytesOf(service.name) - before.bytes + bytes
  if (all > MAX_SERVICE_BYTES)
    throw tooManyRequests(
      id,
      `all versions of ${service.name} must be at most ${MAX_SERVICE_BYTES} bytes of JSON, would be ${all}`,
    )
  const limitBytes = Math.max(MAX_SERVICE_BYTES, limit * QUOTA_NODE_BYTES)
  if (domain.bytes() - before.bytes + bytes > limitBytes)
    throw quotaReached(id, 429, quota, {
      ...{ namespace: domain.name, limit: formatSize(limitBytes) },
      ...{ used: formatSize(domain.bytes()), remedy: 'deregister services' },
    })
}
