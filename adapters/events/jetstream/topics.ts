import { randomUUID } from 'node:crypto'
import type { StreamInfo } from '@nats-io/jetstream'
import type { EventRetention, TopicState } from '../../../core/contracts/events.ts'
import { toForgetMs } from '../../../domain/events/log/index.ts'
import { toTopicKey } from '../../../domain/events/topic-key.ts'
import { isMissing, isNameInUse } from './errors.ts'
import { parseSubject, type TopicNames, toTopicFilter } from './names.ts'
import type { Session } from './session.ts'

/** How long the server knows an event by its id: longer than it takes to repeat what had no answer. */
const KNOWN_MS = 120_000
/** The shortest age the server takes. */
const MIN_AGE_MS = 100
/** Messages removed at a time: the server takes no others meanwhile. */
const MAX_REMOVED = 10_000
const UNLIMITED = -1
const NANOS = 1e6

/** Makes the stream of a topic where it is missing, as far as is known. */
export async function ensureTopic(
  session: Session,
  { stream, subject, aheadSubject }: TopicNames,
  replicas: number,
): Promise<void> {
  await ensureStream(session, {
    name: stream,
    description: `mx: ${randomUUID()}`,
    subjects: [subject, aheadSubject],
    num_replicas: replicas,
    duplicate_window: KNOWN_MS * NANOS,
  })
}

/** A stream of files, that is limited by nothing so far. */
export async function ensureStream(
  { streams, known }: Session,
  config: {
    readonly name: string
    readonly description?: string
    readonly subjects: string[]
    readonly num_replicas: number
    readonly duplicate_window?: number
  },
): Promise<void> {
  if (known.has(config.name)) return
  try {
    await streams.info(config.name)
  } catch (error) {
    if (!isMissing(error)) throw error
    await streams.add(config).catch((error) => {
      if (!isNameInUse(error)) throw error
    })
  }
  known.add(config.name)
}

/** What the server has of a stream; undefined: there is none. */
export async function findStream(
  { streams }: Session,
  stream: string,
): Promise<StreamInfo | undefined> {
  try {
    return await streams.info(stream)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export async function listTopics(
  { streams }: Session,
  prefix: string,
  namespace?: string,
): Promise<TopicState[]> {
  const found: TopicState[] = []
  for await (const { config, state } of streams.list(toTopicFilter(prefix, namespace))) {
    const topic = parseSubject(prefix, config.subjects[0] ?? '')
    const { first_seq, last_seq: last, bytes } = state
    // 0: there never was an event.
    if (topic !== undefined) found.push({ ...topic, first: Math.max(first_seq, 1), last, bytes })
  }
  return found.sort((a, b) => (toTopicKey(a) < toTopicKey(b) ? -1 : 1))
}

/**
 * Has a stream keep so much. Its age is the server's business; its size is not: what a stream may take at most, the server
 * reserves, and would have no room soon. A stream that nobody needs is removed. @returns whether there is more to remove.
 */
export async function retain(
  session: Session,
  { stream }: TopicNames,
  retention: EventRetention,
  nowMs: number,
): Promise<boolean> {
  const info = await findStream(session, stream)
  if (info === undefined) return false
  const { maxAgeMs, maxBytes } = retention
  if (isIdle(info, nowMs - toForgetMs(retention))) {
    await deleteStream(session, stream)
    return false
  }
  const ageMs = maxAgeMs === 0 ? 0 : Math.max(maxAgeMs, MIN_AGE_MS)
  const { max_age, max_msgs } = info.config
  if (max_age !== ageMs * NANOS || max_msgs !== UNLIMITED)
    await session.streams.update(stream, {
      max_age: ageMs * NANOS,
      max_msgs: UNLIMITED,
      duplicate_window: Math.min(KNOWN_MS, ageMs || KNOWN_MS) * NANOS,
    })
  const { messages, bytes } = info.state
  if (maxBytes === 0 || bytes <= maxBytes || messages <= 1) return false
  // As if all were of the same length: what that leaves too much of is removed the next time.
  const kept = Math.max(1, Math.floor(messages * (maxBytes / bytes)))
  await removeOldest(session, stream, Math.max(kept, messages - MAX_REMOVED))
  return true
}

/**
 * Removes all but so many messages, by a limit for the moment. Were they purged, the server would forget which of the others groups hold
 * (nats-server 2.9.10), or have refused (2.15.2): they would come again never, or late.
 */
async function removeOldest({ streams }: Session, stream: string, kept: number): Promise<void> {
  await streams.update(stream, { max_msgs: kept })
  await streams.update(stream, { max_msgs: UNLIMITED })
}

/**
 * What tells the stream of a topic from others that had its name: a text it is made with. When it was made is said differently after a
 * restart. Undefined: others have made it.
 */
export function parseRun({ config }: StreamInfo): string | undefined {
  return config.description
}

/** False: there was none. */
export async function deleteStream(session: Session, stream: string): Promise<boolean> {
  session.known.delete(stream)
  try {
    return await session.streams.delete(stream)
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Whether a stream has neither messages nor consumers, and has had none since a time. */
function isIdle({ created, state }: StreamInfo, sinceMs: number): boolean {
  const { messages, consumer_count, last_ts } = state
  const lastMs = Math.max(Date.parse(created), Date.parse(last_ts))
  return messages === 0 && consumer_count === 0 && lastMs <= sinceMs
}
