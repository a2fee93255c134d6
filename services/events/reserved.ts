import type { EventTopic } from '../../core/contracts/events.ts'
import { toDeadTopic } from '../../domain/events/dead-letters.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Audit log of the service `auth`. */
export const AUDIT_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'auth' }

function isAudit({ namespace, topic }: EventTopic): boolean {
  return topic.toLowerCase() === AUDIT_TOPIC.topic && namespace === AUDIT_TOPIC.namespace
}

/** Whether a topic contains audit records: the audit log and its dead letters. */
export function hasAuditEvents({ namespace, topic }: EventTopic): boolean {
  const isDead = topic.toLowerCase() === toDeadTopic(AUDIT_TOPIC.topic)
  return isAudit({ namespace, topic }) || (isDead && namespace === AUDIT_TOPIC.namespace)
}

/**
 * Rejects changes of the audit log: audited accounts must not write or delete it.
 *
 * @throws {GatewayError} 403
 */
export function rejectReserved(eventTopic: EventTopic, id: string): void {
  if (!isAudit(eventTopic)) return
  const { namespace, topic } = eventTopic
  throw forbidden(
    id,
    `the topic ${topic} of ${namespace} is the audit log of the service auth; choose another topic`,
  )
}
