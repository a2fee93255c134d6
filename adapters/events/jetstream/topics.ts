import { randomUUID } from 'node:crypto'
import type { StreamInfo } from '@nats-io/jetstream'
import type { EventRetention, TopicState } from '../../../core/contracts/events.ts'
import { toForgetMs } from '../../../domain/events/log/index.ts'
import { toTopicKey } from '../../../domain/events/topic-key.ts'
import { isMissing, isNameInUse } from './errors.ts'
import { parseSubject, type TopicNames, toTopicFilter } from './names.ts'
import type { Session } from './session.ts'

/** Deduplication window; longer than unconfirmed appends are retried. */
const DEDUPLICATION_MS = 120_000
/** Minimum `max_age` that the server accepts. */
const MIN_AGE_MS = 100
/** Maximum number of messages removed at a time, because removal blocks appends. */
const MAX_REMOVED = 10_000
const UNLIMITED = -1
const NANOS = 1e6

/** Creates the stream of a topic unless it is known to exist. */
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
    duplicate_window: DEDUPLICATION_MS * NANOS,
  })
}

/** Creates a stream in file storage without limits. */
export async function ensureStream(
  { streams, knownStreams }: Session,
  config: {
    readonly name: string
    readonly description?: string
    readonly subjects: string[]
    readonly num_replicas: number
    readonly duplicate_window?: number
  },
): Promise<void> {
  if (knownStreams.has(config.name)) return
  try {
    await streams.info(config.name)
  } catch (error) {
    if (!isMissing(error)) throw error
    await streams.add(config).catch((error) => {
      if (!isNameInUse(error)) throw error
    })
  }
  knownStreams.add(config.name)
}

/** Returns undefined if the stream does not exist. */
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
  const topics: TopicState[] = []
  for await (const { config, state } of streams.list(toTopicFilter(prefix, namespace))) {
    const topic = parseSubject(prefix, config.subjects[0] ?? '')
    const { first_seq, last_seq: last, bytes } = state
    // `first_seq` is 0 before the first event.
    if (topic !== undefined) topics.push({ ...topic, first: Math.max(first_seq, 1), last, bytes })
  }
  return topics.sort((a, b) => (toTopicKey(a) < toTopicKey(b) ? -1 : 1))
}

/**
 * Applies the retention of a topic. The server enforces the age, but not the size: it would reserve
 * the maximum size of each stream. Unused streams are deleted.
 *
 * @returns whether there is more to remove.
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
      duplicate_window: Math.min(DEDUPLICATION_MS, ageMs || DEDUPLICATION_MS) * NANOS,
    })
  const { messages, bytes } = info.state
  if (maxBytes === 0 || bytes <= maxBytes || messages <= 1) return false
  // Assumes equally sized messages; the rest is removed next time.
  const remaining = Math.max(1, Math.floor(messages * (maxBytes / bytes)))
  await removeOldest(session, stream, Math.max(remaining, messages - MAX_REMOVED))
  return true
}

/**
 * Removes the oldest messages by setting a temporary limit. With a purge, the server loses track of
 * groups' messages in flight (nats-server 2.9.10) or of nacked messages (2.15.2), and redelivers
 * them late or never.
 */
async function removeOldest(
  { streams }: Session,
  stream: string,
  remaining: number,
): Promise<void> {
  await streams.update(stream, { max_msgs: remaining })
  await streams.update(stream, { max_msgs: UNLIMITED })
}

/**
 * Returns the random description that distinguishes a stream from earlier streams of the same name.
 * The creation time is unsuitable because it is reported differently after a restart. Returns
 * undefined for streams of other programs.
 */
export function parseRun({ config }: StreamInfo): string | undefined {
  return config.description
}

/** Returns false if the stream did not exist. */
export async function deleteStream(session: Session, stream: string): Promise<boolean> {
  session.knownStreams.delete(stream)
  try {
    return await session.streams.delete(stream)
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Returns whether a stream has had no messages and no consumers since the specified time. */
function isIdle({ created, state }: StreamInfo, sinceMs: number): boolean {
  const { messages, consumer_count, last_ts } = state
  const lastMs = Math.max(Date.parse(created), Date.parse(last_ts))
  return messages === 0 && consumer_count === 0 && lastMs <= sinceMs
}
