import { isNamespaceName, NAMESPACE_FORM } from '../core/registry/namespace-name.ts'
import type { Context } from './context.ts'
import { badRequest } from './errors.ts'

/** Namespace of whoever names none. */
export const DEFAULT_NAMESPACE = 'mx'

/** Longest of any namespace: they are named as services are. */
const MAX_LENGTH = 253
/** What a namespace must be, as errors say it. */
export const NAMESPACE_RULE: string = `must be ${NAMESPACE_FORM}; at most ${MAX_LENGTH} characters`

/**
 * The namespace a call is about: the one it was made in, else `mx`.
 *
 * @param id of the error.
 * @param maxLength characters it may have.
 * @throws {GatewayError} 400 for a name that is none.
 */
export function toNamespace(ctx: Context, id: string, maxLength: number = MAX_LENGTH): string {
  const namespace = ctx.namespace || DEFAULT_NAMESPACE
  if (namespace.length <= maxLength && isNamespaceName(namespace)) return namespace
  throw badRequest(
    id,
    `Mx-Namespace must be ${NAMESPACE_FORM}; at most ${maxLength} characters, got ${JSON.stringify(namespace.slice(0, 100))}`,
  )
}
