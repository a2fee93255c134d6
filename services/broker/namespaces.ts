import { isServiceName } from '../../core/registry/service-name.ts'
import { toTopicName } from '../../domain/broker/topic-name.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'

/** Maximum length including the namespace. */
const MAX_LENGTH = 253
/** Maximum length of a namespace, so that the limit of topics is the same in all. */
const MAX_NAMESPACE = 100
const MAX_NAME = MAX_LENGTH - MAX_NAMESPACE - 1

/**
 * Namespace of the topics of a call.
 *
 * @throws {GatewayError} 400
 */
export function toBrokerNamespace(ctx: Context, id: string): string {
  return toNamespace(ctx, id, MAX_NAMESPACE)
}

/**
 * Global name of a topic or queue of a namespace (reference 5.1).
 *
 * @param field of the request, for errors.
 * @throws {GatewayError} 400
 */
export function toEffective(namespace: string, name: string, field: string, id: string): string {
  if (name.length <= MAX_NAME && isServiceName(name)) return toTopicName(namespace, name)
  throw badRequest(
    id,
    `${field} must be at most ${MAX_NAME} letters, digits and inner dots, dashes or underscores, got ${JSON.stringify(name.slice(0, MAX_LENGTH))}`,
  )
}
