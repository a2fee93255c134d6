import type { AccountCheck, AccountChecks } from '../../sdk/auth/account-checks.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

export interface RunAccessOptions {
  readonly checks: Pick<AccountChecks, 'mustBeAdmin' | 'mustBeOperator'>
  /** Namespaces whose administrators may run programs; undefined: those of all namespaces. */
  readonly namespaces: readonly string[] | undefined
}

/**
 * Checks that a caller may run programs in a namespace: as an operator of the platform, or as an administrator of a namespace that
 * is listed. A program of this machine can do more than an administrator of a namespace may.
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
