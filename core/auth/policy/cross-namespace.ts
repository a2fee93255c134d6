import type { Account } from '../../contracts/auth.ts'
import { isBuiltInService } from '../../registry/built-in-services.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import type { CallTarget } from './decision.ts'
import { belongsTo } from './is-member.ts'

/**
 * True if the account must be hidden from the service because it belongs to a different namespace than the call:
 * services that check only scopes would accept it. Built-in services check namespaces (reference 2.2) and receive it.
 */
export function isCrossNamespace(account: Account | undefined, target: CallTarget): boolean {
  const { namespace, domain, resource } = target
  if (account === undefined || belongsTo(account, namespace || domain)) return false
  return domain !== DEFAULT_DOMAIN || !isBuiltInService(resource.name)
}
