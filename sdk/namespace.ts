import { isNamespaceName, NAMESPACE_FORM } from '../core/registry/namespace-name.ts'
import type { Context } from './context.ts'
import { badRequest } from './errors.ts'

/** The default namespace. */
export const DEFAULT_NAMESPACE = 'mx'

/** Maximum length, the same as of a service name. */
const MAX_LENGTH = 253
/** Valid form of a namespace, for errors. */
export const NAMESPACE_RULE: string = `must be ${NAMESPACE_FORM}; at most ${MAX_LENGTH} characters`

/**
 * Namespace of a call: the namespace of its context, else `mx`.
 *
 * @param id error id.
 * @param maxLength maximum number of characters.
 * @throws {GatewayError} 400 for an invalid name.
 */
export function toNamespace(ctx: Context, id: string, maxLength: number = MAX_LENGTH): string {
  const namespace = ctx.namespace || DEFAULT_NAMESPACE
  if (namespace.length <= maxLength && isNamespaceName(namespace)) return namespace
  throw badRequest(
    id,
    `Mx-Namespace must be ${NAMESPACE_FORM}; at most ${maxLength} characters, got ${JSON.stringify(namespace.slice(0, 100))}`,
  )
}
