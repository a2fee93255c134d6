import { isServiceName } from '../core/service-name.ts'
import type { Context } from './context.ts'
import { badRequest } from './errors.ts'

/** Namespace of whoever names none. */
export const DEFAULT_NAMESPACE = 'mx'

/** Longest of any namespace: they are named as services are. */
const MAX_LENGTH = 253
/** What a namespace must be, as errors say it. */
export const NAMESPACE_RULE: string = `must be letters, digits and inner dots, dashes or underscores, at most ${MAX_LENGTH}`

/**
 * The namespace a call is about: the one it was made in, else `mx`.
 *
 * @param id of the error.
 * @param maxLength characters it may have.
 * @throws {GatewayError} 400 for a name that is none.
 */
export function toNamespace(ctx: Context, id: string, maxLength: number = MAX_LENGTH): string {
  const namespace = ctx.namespace || DEFAULT_NAMESPACE
  if (namespace.length <= maxLength && isServiceName(namespace)) return namespace
  throw badRequest(
    id,
    `Mx-Namespace must be letters, digits and inner dots, dashes or underscores, at most ${maxLength}, got ${JSON.stringify(namespace.slice(0, 100))}`,
  )
}
