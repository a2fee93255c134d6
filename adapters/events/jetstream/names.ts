import { createHash } from 'node:crypto'
import type { EventTopic } from '../../../core/contracts/events.ts'

/** What the server has a topic as. */
export interface TopicNames {
  readonly stream: string
  /** Its events are published here. */
  readonly subject: string
  /** Those with a timestamp that is still to come, here. */
  readonly aheadSubject: string
}

/** Longest name of a stream that can be read; it is the name of a folder, too. */
const MAX_STREAM = 200
/** What no topic ends with. */
const AHEAD = '.=ahead'

/**
 * The names of a topic: `<prefix>.events.<namespace>.<topic>`, the dots of a namespace being `=`, and a stream of that name with `=` for dots
 * and `+` in between, which names of streams may have. Topics differ where their streams do; what would be too long is a digest.
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

/** Subjects of all topics, or of those of a namespace. */
export function toTopicFilter(prefix: string, namespace?: string): string {
  return `${prefix}.events.${namespace === undefined ? '' : `${toToken(namespace)}.`}>`
}

/** The topic of a subject; undefined: of none. */
export function parseSubject(prefix: string, subject: string): EventTopic | undefined {
  const start = `${prefix}.events.`
  const end = subject.indexOf('.', start.length)
  if (!subject.startsWith(start) || end < 0) return undefined
  const topic = subject.slice(end + 1)
  return { namespace: fromToken(subject.slice(start.length, end)), topic }
}

/** A consumer has the name of its group, with `=` for dots. */
export function toConsumerName(group: string): string {
  return toToken(group)
}

export function parseConsumerName(consumer: string): string {
  return fromToken(consumer)
}

/** The stream of what groups have acknowledged. */
export function toAcksStream(prefix: string): string {
  return `${toToken(prefix)}+acks`
}

/**
 * Where what a group has acknowledged is noted.
 *
 * @param group default: all of them
 * @param run which of the groups that had this name one after the other. @default all of them
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
