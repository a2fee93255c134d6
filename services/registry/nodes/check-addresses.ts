import { CALLER_ADDRESS } from '../../../core/auth/identity-headers.ts'
import { isOperator, isWorkload } from '../../../core/auth/policy/account-rights.ts'
import type { Node, Service } from '../../../core/contracts/registry.ts'
import type { EgressPolicy } from '../../../core/egress/egress-policy.ts'
import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import { parseHostPort, RESOLVED } from '../../../core/upstream/node/parse-node.ts'
import { type Context, metadata as contextMetadata } from '../../../sdk/context.ts'

/** Outgoing address policy of a registry service. */
export interface NodePolicy {
  readonly egress: Pick<EgressPolicy, 'resolvePeer'>
  /**
   * Whether services of the default namespace may use loopback addresses, as in the `local` profile.
   */
  readonly isLocal: boolean
  /**
   * Namespaces whose programs run on this machine. Their workloads may use loopback addresses, to
   * which they can connect anyway.
   */
  readonly programNamespaces: readonly string[]
}

/**
 * Checks the addresses of the nodes in a registration. Operators may register any address.
 *
 * @param id id used in the error.
 * @returns the registration. For a node with a host name, the checked addresses are added to its
 * metadata, and gateways connect only to these.
 * @throws {GatewayError} same errors as {@link EgressPolicy.resolvePeer}, as a rejection.
 */
export type CheckAddresses = (
  service: Service,
  domain: string,
  ctx: Context,
  id: string,
) => Promise<Service>

/** @param policy if undefined, any address may be registered. */
export function createAddressCheck(policy: NodePolicy | undefined): CheckAddresses {
  return async (service, domain, ctx, id) => {
    const { account } = ctx
    const nodes = service.nodes.map(withoutResolved)
    if (policy === undefined || (account !== undefined && isOperator(account)))
      return { ...service, nodes }
    const from = contextMetadata.get(ctx, CALLER_ADDRESS)[0]
    const mayBeLocal =
      (policy.isLocal && domain === DEFAULT_DOMAIN) ||
      (account !== undefined && isWorkload(account) && policy.programNamespaces.includes(domain))
    const checked: Node[] = []
    // Sequential, so that a registration resolves only one host name at a time.
    for (const node of nodes) {
      const target = { ...parseHostPort(node.address)!, label: 'node address', from, mayBeLocal }
      checked.push(withResolved(node, await policy.egress.resolvePeer(target, id)))
    }
    return { ...service, nodes: checked }
  }
}

function withResolved(node: Node, addresses: readonly string[]): Node {
  if (addresses.length === 0) return node
  return { ...node, metadata: { ...node.metadata, [RESOLVED]: addresses.join(',') } }
}

// Removes the key that only the registry may set.
function withoutResolved(node: Node): Node {
  if (!Object.hasOwn(node.metadata, RESOLVED)) return node
  const { [RESOLVED]: _, ...metadata } = node.metadata
  return { ...node, metadata }
}
