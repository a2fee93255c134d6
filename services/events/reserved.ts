import type { EventTopic } from '../../core/contracts/events.ts'
import { toDeadTopic } from '../../domain/events/dead-letters.ts'
import { forbidden } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Audit log of the `auth` service. */
export const AUDIT_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'auth' }
/** Changes to runtime objects in all namespaces, published by the `runtime` service. */
export const RUNTIME_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'runtime' }

/** Quotas of requests that reach 80 % or 100 %, published by the `auth` service. */
export const QUOTA_TOPIC: EventTopic = { namespace: DEFAULT_NAMESPACE, topic: 'request-quotas' }
/** Topics to which only the platform publishes, with the publishing service. */
const PUBLISHERS: readonly (readonly [EventTopic, string])[] = [
  [RUNTIME_TOPIC, 'runtime'],
  [QUOTA_TOPIC, 'auth'],
]

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
 * Rejects events that only a platform service may publish. Otherwise, a program could report
 * changes to other programs, or exhausted quotas.
 *
 * @throws {GatewayError} 403
 */
export function rejectForged(eventTopic: EventTopic, id: string): void {
  const { namespace, topic } = eventTopic
  for (const [reserved, publisher] of PUBLISHERS) {
    const dead = { ...reserved, topic: toDeadTopic(reserved.topic) }
    if (!isSame(eventTopic, reserved) && !isSame(eventTopic, dead)) continue
    throw forbidden(
      id,
      `only the ${publisher} service may publish to the topic ${topic} of ${namespace}; choose another topic`,
    )
  }
}
