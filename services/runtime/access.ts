import type { AccountCheck, AccountChecks } from '../../sdk/auth/account-checks.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

export interface RunAccessOptions {
  readonly checks: Pick<AccountChecks, 'mustBeAdmin' | 'mustBeOperator'>
  /** Namespaces whose administrators may run programs; all namespaces if undefined. */
  readonly namespaces: readonly string[] | undefined
}

/**
 * Checks that a caller may run programs in a namespace. A program on this server can do more than
 * an administrator of a namespace, so only operators of the platform and administrators of a listed
 * namespace are allowed.
 */
export function createRunCheck({ checks, namespaces }: RunAccessOptions): AccountCheck {
  return (ctx, namespace, id) => {
    checks.mustBeAdmin(ctx, namespace, id)
    if (namespaces === undefined || namespaces.includes(namespace)) return
    try {
      checks.mustBeOperator(ctx, id)
    } catch (cause) {
      throw forbidden(
        id,
        `Permission denied: only accounts of namespace ${DEFAULT_NAMESPACE} with the scope admin may run programs on this server. To allow administrators of namespace ${namespace}, list it in runtime_namespaces.`,
        { cause },
      )
    }
  }
}
