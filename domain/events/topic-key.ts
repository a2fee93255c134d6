import type { EventTopic } from '../../core/contracts/events.ts'

/** Separator, which names must not contain. */
const END = '\0'

/**
 * Returns the key of a topic, or of a named part of it. Keys are ordered by namespace, topic and
 * name.
 */
export function toTopicKey({ namespace, topic }: EventTopic, name?: string): string {
  return name === undefined ? namespace + END + topic : namespace + END + topic + END + name
}
