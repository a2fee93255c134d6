import { createHash } from 'node:crypto'
import type { EventTopic } from '../../../core/contracts/events.ts'

/** Names of a topic on the server. */
export interface TopicNames {
  readonly stream: string
  /** Subject of its events. */
  readonly subject: string
  /** Subject of events with a future timestamp. */
  readonly aheadSubject: string
}

/** Maximum length of a readable stream name, which is also a folder name. */
const MAX_STREAM = 200
/** Suffix that no topic has. */
const AHEAD = '.=ahead'

/**
 * Names of a topic: the subject `<prefix>.events.<namespace>.<topic>`, with `=` for dots of the namespace, and a stream of that name
 * with `=` for dots and `+` as separator. Streams identify topics; a name that is too long is replaced by a digest.
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

/** Parses a subject; undefined if it is not a topic. */
export function parseSubject(prefix: string, subject: string): EventTopic | undefined {
  const start = `${prefix}.events.`
  const end = subject.indexOf('.', start.length)
  if (!subject.startsWith(start) || end < 0) return undefined
  const topic = subject.slice(end + 1)
  return { namespace: fromToken(subject.slice(start.length, end)), topic }
}

/** Consumer name of a group, with `=` for dots. */
export function toConsumerName(group: string): string {
  return toToken(group)
}

export function parseConsumerName(consumer: string): string {
  return fromToken(consumer)
}

/** Stream of the groups' acknowledgements. */
export function toAcksStream(prefix: string): string {
  return `${toToken(prefix)}+acks`
}

/**
 * Subject of a group's acknowledgements.
 *
 * @param group default: all of them
 * @param run identifies one of the groups that had this name. @default all of them
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
