import type { EventTopic } from '../../core/contracts/events.ts'
import { toDeadTopic } from '../../domain/events/dead-letters.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** What the service `auth` tells of changes and failed logins. */
export const AUDIT_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'auth' }

/** Whether a topic is the audit. */
function isAudit({ namespace, topic }: EventTopic): boolean {
  return topic.toLowerCase() === AUDIT_TOPIC.topic && namespace === AUDIT_TOPIC.namespace
}

/** Whether a topic has events of the audit: the audit, and the events that its consumers gave up. */
export function hasAuditEvents({ namespace, topic }: EventTopic): boolean {
  const isDead = topic.toLowerCase() === toDeadTopic(AUDIT_TOPIC.topic)
  return isAudit({ namespace, topic }) || (isDead && namespace === AUDIT_TOPIC.namespace)
}

/**
 * Refuses what would change the record of the audit: whoever it tells of must not write it, nor remove it.
 *
 * @throws {GatewayError} 403
 */
export function rejectReserved(given: EventTopic, id: string): void {
  if (!isAudit(given)) return
  const { namespace, topic } = given
  throw forbidden(
    id,
    `the topic ${topic} of ${namespace} is the audit, which the service auth alone writes; name another`,
  )
}
