import { isServiceName } from '../../core/registry/service-name.ts'
import { toTopicName } from '../../domain/broker/topic-name.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'

/** Maximum length of a name including the namespace. */
const MAX_LENGTH = 253
/** Maximum length of a namespace, so that topics have the same limit in all namespaces. */
const MAX_NAMESPACE = 100
const MAX_NAME = MAX_LENGTH - MAX_NAMESPACE - 1

/**
 * Returns the namespace of the topics in a call.
 *
 * @throws {GatewayError} 400
 */
export function toBrokerNamespace(ctx: Context, id: string): string {
  return toNamespace(ctx, id, MAX_NAMESPACE)
}

/**
 * Returns the global name of a topic or queue in a namespace (reference 5.1).
 *
 * @param field field of the request, for error messages.
 * @throws {GatewayError} 400
 */
export function toEffective(namespace: string, name: string, field: string, id: string): string {
  if (name.length <= MAX_NAME && isServiceName(name)) return toTopicName(namespace, name)
  throw badRequest(
    id,
    `${field} must be at most ${MAX_NAME} letters, digits and inner dots, dashes or underscores, got ${JSON.stringify(name.slice(0, MAX_LENGTH))}`,
  )
}
