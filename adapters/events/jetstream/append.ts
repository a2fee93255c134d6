import type { EventAppend, NewEvent } from '../../../core/contracts/events.ts'
import type { GatewayError } from '../../../core/errors.ts'
import { eventsUnavailable, rejectInput } from '../../../domain/events/errors.ts'
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

/** Further in the future than this, an event is published as one that is ahead of its time. */
export const AHEAD_MS = 60_000
/** Events of a topic whose stream is gone are published again, once it was made. */
const ATTEMPTS = 2

/** Publishes events: those of a batch one behind the other, and all before the first is acknowledged. */
export function createAppend({ sessions, prefix, replicas, nowMs }: AppendOptions) {
  /** Publishes what has no outcome yet. */
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
      if (session.isOver || !outcomes.includes(undefined)) break
    }
    if (session.isOver && outcomes.includes(undefined)) throw new Error('the connection is lost')
  }

  return async (batch: readonly EventAppend[]): Promise<readonly Outcome[]> => {
    const outcomes: (Outcome | undefined)[] = batch.map(() => undefined)
    let failure: GatewayError | undefined
    try {
      await sessions.use((session) => publish(session, batch, outcomes))
    } catch (error) {
      failure = toFailure(error)
    }
    const missing = failure ?? eventsUnavailable(new Error('the stream is gone'))
    return outcomes.map((outcome) => outcome ?? missing)
  }
}

/** Undefined: it is not known whether the event is stored, or there is no stream. */
async function publishOne(
  session: Session,
  { stream, subject, aheadSubject }: TopicNames,
  event: NewEvent,
  aheadMs: number,
): Promise<Outcome | undefined> {
  const { payload, timestampMs } = event
  const { headers, bytes } = encodeHeaders(event)
  const longest = session.maxMessageBytes - bytes
  if (payload.length > longest)
    return rejectInput(
      400,
      `payload must be at most ${longest} bytes for NATS, got ${payload.length}`,
    )
  const to = timestampMs > aheadMs ? aheadSubject : subject
  try {
    const answer = await session.ask({ subject: to, body: payload, headers })
    if (!isUnacknowledged(answer)) return toStored(answer)
    session.known.delete(stream)
    return undefined
  } catch (error) {
    return session.isOver ? undefined : toFailure(error)
  }
}
