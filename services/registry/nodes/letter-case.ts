import type { Service } from '../../../core/contracts/registry.ts'
import { conflict } from '../../../sdk/errors.ts'
import type { Domain } from '../domains.ts'

/**
 * Rejects a service whose name differs from a registered name only in letter case. Rules ignore
 * letter case, so the rules of each service would also apply to the other.
 *
 * @param id id used in the error.
 * @throws {GatewayError} 409
 */
export function checkLetterCase(domain: Domain, { name }: Service, id: string): void {
  const other = domain.findOtherCase(name)
  if (other === undefined) return
  throw conflict(
    id,
    `the name ${name} differs from the registered service ${other} only in letter case; choose another name`,
  )
}
