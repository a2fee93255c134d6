import { canActAs } from '../../../core/auth/policy/account-rights.ts'
import type { AccountChecks } from '../../../sdk/auth/account-checks.ts'
import type { Context } from '../../../sdk/context.ts'
import { splitConfigPath } from './path.ts'

/**
 * Denies callers that may not read a path. Services of the namespace may read all paths; a workload
 * may only read the subtree of its name, `<service>.<key>`. Service names may contain dots: `a.b.c`
 * is in the subtrees of `a`, `a.b` and `a.b.c`.
 *
 * @param id id used in errors.
 * @throws {GatewayError} 401, 403
 */
export function mustBeReader(
  checks: AccountChecks,
  ctx: Context,
  {
    namespace,
    path,
    id,
  }: { readonly namespace: string; readonly path: string; readonly id: string },
): void {
  if (path === '') {
    checks.mustBeViewer(ctx, namespace, id)
    checks.mustBeService(ctx, namespace, id)
    return
  }
  const { account } = ctx
  const subtrees = splitConfigPath(path).map((_, i, names) => names.slice(0, i + 1).join('.'))
  const accessible = subtrees.find(
    (name) => account !== undefined && canActAs(account, namespace, name),
  )
  checks.mustBeService(ctx, namespace, id, accessible ?? subtrees[0]!)
}
