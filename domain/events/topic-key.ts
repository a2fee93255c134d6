import type { EventTopic } from '../../core/contracts/events.ts'

/** What no name has. */
const END = '\0'

/** A topic, or something of it that has a name, as one text. In the order of namespaces, then of topics, then of names. */
export function toTopicKey({ namespace, topic }: EventTopic, name?: string): string {
  return name === undefined ? namespace + END + topic : namespace + END + topic + END + name
}
