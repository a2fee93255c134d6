import { NAME_RULE } from '../../core/events/checks.ts'
import { isServiceName } from '../../core/service-name.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'

/** Namespace of whoever names none. */
const DEFAULT_NAMESPACE = 'mx'

/**
 * The namespace whose topics a call is about.
 *
 * @param id of the error.
 * @throws {GatewayError} 400 for a name that is none.
 */
export function toNamespace({ namespace }: Context, id: string): string {
  const name = namespace || DEFAULT_NAMESPACE
  if (isServiceName(name)) return name
  throw badRequest(id, `Mx-Namespace ${NAME_RULE}, got ${JSON.stringify(name.slice(0, 100))}`)
}
