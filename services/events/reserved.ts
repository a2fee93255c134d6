import type { EventTopic } from '../../core/contracts/events.ts'
import { toDeadTopic } from '../../domain/events/dead-letters.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Audit log of the `auth` service. */
export const AUDIT_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'auth' }
/** Changes to runtime objects in all namespaces, published by the `runtime` service. */
export const RUNTIME_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'runtime' }

function isSame({ namespace, topic }: EventTopic, other: EventTopic): boolean {
  return topic.toLowerCase() === other.topic && namespace === other.namespace
}

/** Returns whether a topic contains audit records, which are the audit log and its dead letters. */
export function hasAuditEvents({ namespace, topic }: EventTopic): boolean {
  const isDead = topic.toLowerCase() === toDeadTopic(AUDIT_TOPIC.topic)
  return (
    isSame({ namespace, topic }, AUDIT_TOPIC) || (isDead && namespace === AUDIT_TOPIC.namespace)
  )
}

/**
 * Rejects changes to the audit log, because audited accounts must not write or delete it.
 *
 * @throws {GatewayError} 403
 */
export function rejectReserved(eventTopic: EventTopic, id: string): void {
  if (!isSame(eventTopic, AUDIT_TOPIC)) return
  const { namespace, topic } = eventTopic
  throw forbidden(
    id,
    `the topic ${topic} of ${namespace} is the audit log of the auth service; choose another topic`,
  )
}

/**
 * Rejects events that only the `runtime` service may publish. Otherwise, a program could report
 * changes to other programs.
 *
 * @throws {GatewayError} 403
 */
export function rejectForged(eventTopic: EventTopic, id: string): void {
  const { namespace, topic } = eventTopic
  const isDead = isSame(eventTopic, { ...RUNTIME_TOPIC, topic: toDeadTopic(RUNTIME_TOPIC.topic) })
  if (!isSame(eventTopic, RUNTIME_TOPIC) && !isDead) return
  throw forbidden(
    id,
    `only the runtime service may publish to the topic ${topic} of ${namespace}; choose another topic`,
  )
}
