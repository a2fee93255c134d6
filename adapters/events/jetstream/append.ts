import type { EventAppend, NewEvent } from '../../../core/contracts/events.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { eventsError, eventsUnavailable } from '../../../domain/events/errors.ts'
import { toTopicKey } from '../../../domain/events/topic-key.ts'
import { toFailure } from './errors.ts'
import { encodeHeaders } from './event-message.ts'
import { type TopicNames, toTopicNames } from './names.ts'
import { isUnacknowledged, toStored } from './pub-ack.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'
import { ensureTopic } from './topics.ts'

export interface AppendOptions {
  readonly sessions: Sessions
  readonly prefix: string
  readonly replicas: number
  readonly nowMs: () => number
}

type Outcome = number | GatewayError

/** Events whose timestamp is further in the future are published on a separate subject. */
export const AHEAD_MS = 60_000
/** Events are published a second time if the stream was deleted, after recreating it. */
const ATTEMPTS = 2

/** Publishes events. Batches keep their order without waiting for each acknowledgement. */
export function createAppend({ sessions, prefix, replicas, nowMs }: AppendOptions) {
  /** Publishes the events that have no outcome yet. */
  async function publish(
    session: Session,
    batch: readonly EventAppend[],
    outcomes: (Outcome | undefined)[],
  ): Promise<void> {
    const topics = new Map<string, TopicNames>()
    const failures = new Map<TopicNames, GatewayError>()
    const namesOf = batch.map(({ topic }) => {
      const key = toTopicKey(topic)
      const names = topics.get(key) ?? toTopicNames(prefix, topic)
      topics.set(key, names)
      return names
    })
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await Promise.all(
        [...topics.values()].map((names) =>
          ensureTopic(session, names, replicas).catch((error) => {
            failures.set(names, toFailure(error))
          }),
        ),
      )
      const aheadMs = nowMs() + AHEAD_MS
      await Promise.all(
        batch.map(async ({ event }, index) => {
          if (outcomes[index] !== undefined) return
          const names = namesOf[index]!
          const failure = failures.get(names)
          outcomes[index] = failure ?? (await publishOne(session, names, event, aheadMs))
        }),
      )
      if (session.isEnded || !outcomes.includes(undefined)) break
    }
    if (session.isEnded && outcomes.includes(undefined)) throw new Error('the connection is lost')
  }

  return async (batch: readonly EventAppend[]): Promise<readonly Outcome[]> => {
    const outcomes: (Outcome | undefined)[] = batch.map(() => undefined)
    let failure: GatewayError | undefined
    try {
      await sessions.use((session) => publish(session, batch, outcomes))
    } catch (error) {
      failure = toFailure(error)
    }
    const missing = failure ?? eventsUnavailable(new Error('the stream has been deleted'))
    return outcomes.map((outcome) => outcome ?? missing)
  }
}

/** Returns undefined if the stream does not exist or it is unknown whether the event was stored. */
async function publishOne(
  session: Session,
  { stream, subject, aheadSubject }: TopicNames,
  event: NewEvent,
  aheadMs: number,
): Promise<Outcome | undefined> {
  const { payload, timestampMs } = event
  const { headers, bytes } = encodeHeaders(event)
  const maxPayload = session.maxMessageBytes - bytes
  if (payload.length > maxPayload)
    return eventsError(
      400,
      `payload must be at most ${maxPayload} bytes for NATS, got ${payload.length}`,
    )
  const target = timestampMs > aheadMs ? aheadSubject : subject
  try {
    const response = await session.request({ subject: target, body: payload, headers })
    if (!isUnacknowledged(response)) return toStored(response)
    session.knownStreams.delete(stream)
    return undefined
  } catch (error) {
    return session.isEnded ? undefined : toFailure(error)
  }
}
