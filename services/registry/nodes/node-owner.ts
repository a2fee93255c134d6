import { createHash } from 'node:crypto'
import { canActAs, isAdminOf, isWorkload } from '../../../core/auth/policy/account-rights.ts'
import type { Registry, Service } from '../../../core/contracts/registry.ts'
import type { Account, Context } from '../../../sdk/context.ts'
import { conflict } from '../../../sdk/errors.ts'
import { queryRegistry } from '../query.ts'

/**
 * Key of the node metadata with the account that registered the node, or for whose program the
 * runtime registered it. Callers cannot set it.
 */
export const OWNER = 'mx-owner'

/**
 * Adds the owner to the metadata of each node, where it persists across restarts and is visible to
 * other servers that share the registry.
 */
export function withOwner(service: Service, account: Account | undefined): Service {
  const owner = account === undefined ? undefined : toOwner(account)
  const nodes = service.nodes.map(({ metadata: { [OWNER]: _, ...metadata }, ...node }) => ({
    ...node,
    metadata: owner === undefined ? metadata : { ...metadata, [OWNER]: owner },
  }))
  return { ...service, nodes }
}

/** Namespace and registry of a name. */
export interface NameScope {
  readonly registry: Registry
  readonly namespace: string
}

/**
 * Applies a change to nodes of a service if the account owns the name.
 *
 * @param change registers or removes the nodes of `service`.
 * @param id id used in the error.
 * @throws {GatewayError} same errors as {@link requireNodeOwner}, and errors from `change`, as a
 * rejection.
 */
export type ChangeAsOwner = (
  service: Service,
  scope: NameScope,
  ctx: Pick<Context, 'account' | 'signal'>,
  id: string,
  change: () => Promise<void>,
) => Promise<void>

/**
 * Serializes changes per name to nodes that the account has not registered yet, so that two
 * accounts cannot both claim an unused name.
 */
export function createOwnerChanges(): ChangeAsOwner {
  /** The latest change of each name. */
  const changes = new Map<string, Promise<void>>()
  return async (service, scope, ctx, id, change) => {
    const check = (): Promise<boolean> => requireNodeOwner(service, scope, ctx.account, id)
    if (await check()) return change()
    const key = `${scope.namespace}/${service.name}`
    const checkAndChange = async (): Promise<void> => {
      // A slow registry must not accumulate a queue of calls that have timed out.
      ctx.signal.throwIfAborted()
      await check()
      await change()
    }
    const before = changes.get(key)
    const latest =
      before === undefined ? checkAndChange() : before.then(checkAndChange, checkAndChange)
    changes.set(key, latest)
    try {
      await latest
    } finally {
      if (changes.get(key) === latest) changes.delete(key)
    }
  }
}

/**
 * Denies a `service` account that would register or remove nodes of a name owned by another
 * account: it would receive the other account's calls and tokens. The name is owned while nodes of
 * the other account are registered; an account retains its registered nodes. Workloads own the name
 * in their scope, and administrators may take over any name. Nodes that were written directly to a
 * shared registry have no owner.
 *
 * @param id id used in the error.
 * @returns whether the account keeps the right to change these nodes, regardless of later
 * registrations by other accounts.
 * @throws {GatewayError} 409
 */
export async function requireNodeOwner(
  { name, version, nodes }: Service,
  { registry, namespace }: NameScope,
  account: Account | undefined,
  id: string,
): Promise<boolean> {
  if (account === undefined || isAdminOf(account, namespace)) return true
  if (isWorkload(account) && canActAs(account, namespace, name)) return true
  const caller = toOwner(account)
  const versions = await queryRegistry(registry, id, () => registry.getService(name))
  const registered = versions.find((entry) => entry.version === version)?.nodes ?? []
  const owned = new Set(
    registered.filter(({ metadata }) => metadata[OWNER] === caller).map(({ id }) => id),
  )
  if (nodes.every((node) => owned.has(node.id))) return true
  const isOwned = versions.some((each) =>
    each.nodes.some(({ metadata }) => metadata[OWNER] !== undefined && metadata[OWNER] !== caller),
  )
  if (!isOwned) return false
  throw conflict(
    id,
    `the service ${name} of namespace ${namespace} is registered by another account; choose another name, wait until its nodes are removed, or have an administrator register it`,
  )
}

/**
 * Returns the {@link OWNER} of an account's nodes. It is a digest, because the registry of the `mx` namespace is public
 * but account ids are not.
 */
export function toOwner({ issuer, id }: Pick<Account, 'issuer' | 'id'>): string {
  return createHash('sha256').update(`${issuer}/${id}`).digest('base64url').slice(0, 22)
}
