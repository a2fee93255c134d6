import type { Account } from '../../contracts/auth.ts'
import { isOfPlatform } from '../../registry/built-in-services.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import type { CallTarget } from './decision.ts'
import { belongsTo } from './is-member.ts'

/**
 * Whether what is called must not be told of an account: it is none of the namespace the call is made in. Services that look at scopes alone
 * would take it for one of theirs. Those of the platform look at namespaces (reference 2.2), and are told.
 */
export function isCrossNamespace(account: Account | undefined, target: CallTarget): boolean {
  const { namespace, domain, resource } = target
  if (account === undefined || belongsTo(account, namespace || domain)) return false
  return domain !== DEFAULT_DOMAIN || !isOfPlatform(resource.name)
}
