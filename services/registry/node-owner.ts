import { createHash } from 'node:crypto'
import { canActAs, isAdminOf, isWorkload } from '../../core/auth/account-rights.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { Account } from '../../sdk/context.ts'
import { conflict } from '../../sdk/errors.ts'
import { ask } from './ask.ts'

/** Metadata of a node: the account that registered it, or for whose program the runtime did. Callers cannot set it. */
export const OWNER = 'mx-owner'

/** The entry with its owner in the metadata of each node: it survives restarts of the service, and other servers of a shared registry see it. */
export function withOwner(service: Service, account: Account | undefined): Service {
  const owner = account === undefined ? undefined : toOwner(account)
  const nodes = service.nodes.map(({ metadata: { [OWNER]: _, ...metadata }, ...node }) => ({
    ...node,
    metadata: owner === undefined ? metadata : { ...metadata, [OWNER]: owner },
  }))
  return { ...service, nodes }
}

/**
 * Denies a `service` account that would register or remove nodes of a name that another account holds: it would receive
 * the calls, and the tokens, that are meant for the other. The name is held while nodes of the other account are registered;
 * nodes that an account has registered remain its own. Workloads own the name in their scope, and administrators may take over any
 * name. Nodes that were written into a shared registry directly have no owner.
 *
 * @param id of the error.
 * @throws {GatewayError} 409
 */
export async function mustOwnName(
  { name, version, nodes }: Service,
  { registry, namespace }: { readonly registry: Registry; readonly namespace: string },
  account: Account | undefined,
  id: string,
): Promise<void> {
  if (account === undefined || isAdminOf(account, namespace)) return
  if (isWorkload(account) && canActAs(account, namespace, name)) return
  const own = toOwner(account)
  const versions = await ask(registry, id, () => registry.getService(name))
  const isHeld = versions.some((there) =>
    there.nodes.some(({ metadata }) => metadata[OWNER] !== undefined && metadata[OWNER] !== own),
  )
  if (!isHeld) return
  const there = versions.find((one) => one.version === version)?.nodes ?? []
  const owned = new Set(there.filter(({ metadata }) => metadata[OWNER] === own).map(({ id }) => id))
  if (!nodes.every((node) => owned.has(node.id)))
    throw conflict(
      id,
      `the service ${name} of namespace ${namespace} is registered by another account: choose another name, wait until its nodes are gone, or let an administrator register it`,
    )
}

/** The {@link OWNER} of an account's nodes. A digest: the registry of namespace `mx` is public, and the ids of accounts are not. */
export function toOwner({ issuer, id }: Pick<Account, 'issuer' | 'id'>): string {
  return createHash('sha256').update(`${issuer}/${id}`).digest('base64url').slice(0, 22)
}
