import { createHash } from 'node:crypto'
import type { EventTopic } from '../../../core/contracts/events.ts'

/** Names of a topic on the server. */
export interface TopicNames {
  readonly stream: string
  /** Subject of the topic's events. */
  readonly subject: string
  /** Subject of events with a future timestamp. */
  readonly aheadSubject: string
}

/** Maximum length of a readable stream name, which is also used as a folder name. */
const MAX_STREAM = 200
/** Suffix that no topic name contains. */
const AHEAD = '.=ahead'

/**
 * Returns the names of a topic. The subject is `<prefix>.events.<namespace>.<topic>`, with `=` for
 * dots in the namespace. The stream has the same name with `=` for dots and `+` as the separator.
 * Streams identify topics; names that are too long are replaced by a digest.
 */
export function toTopicNames(prefix: string, { namespace, topic }: EventTopic): TopicNames {
  const subject = `${prefix}.events.${toToken(namespace)}.${topic}`
  const stream = ['', namespace, topic].map(toToken).join('+')
  return {
    stream: `${toToken(prefix)}+events${stream.length > MAX_STREAM ? `+${digest(stream)}` : stream}`,
    subject,
    aheadSubject: subject + AHEAD,
  }
}

/** Subject filter of all topics, or of one namespace. */
export function toTopicFilter(prefix: string, namespace?: string): string {
  return `${prefix}.events.${namespace === undefined ? '' : `${toToken(namespace)}.`}>`
}

/** Parses a subject. Returns undefined if it does not belong to a topic. */
export function parseSubject(prefix: string, subject: string): EventTopic | undefined {
  const start = `${prefix}.events.`
  const end = subject.indexOf('.', start.length)
  if (!subject.startsWith(start) || end < 0) return undefined
  const topic = subject.slice(end + 1)
  return { namespace: fromToken(subject.slice(start.length, end)), topic }
}

/** Returns the consumer name of a group, with `=` for dots. */
export function toConsumerName(group: string): string {
  return toToken(group)
}

export function parseConsumerName(consumer: string): string {
  return fromToken(consumer)
}

/** Returns the name of the stream that stores the groups' acknowledgements. */
export function toAcksStream(prefix: string): string {
  return `${toToken(prefix)}+acks`
}

/**
 * Returns the subject of a group's acknowledgements.
 *
 * @param group default: all groups
 * @param run identifies one of the groups that have had this name. @default all
 */
export function toAcksSubject(
  prefix: string,
  { namespace, topic }: EventTopic,
  group = '*',
  run = '*',
): string {
  return `${prefix}.acks.${[namespace, topic, group].map(toToken).join('.')}.${run}`
}

function toToken(name: string): string {
  return name.replaceAll('.', '=')
}

function fromToken(token: string): string {
  return token.replaceAll('=', '.')
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
