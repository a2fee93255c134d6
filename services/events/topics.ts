import type { GroupState, TopicState } from '../../core/contracts/events.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import type { Events } from '../../domain/events/events.ts'

export interface GroupMessage {
  readonly group: string
  readonly acked: number
  readonly pending: number
}

/** A group with its lag. */
export interface LaggingGroupMessage extends GroupMessage {
  readonly lag: number
}

export interface TopicMessage {
  readonly topic: string
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly groups?: readonly LaggingGroupMessage[]
}

const group = {
  group: Type.String(),
  acked: Type.Integer({ description: 'All events up to this sequence are acknowledged.' }),
  pending: Type.Integer({ description: 'Unacknowledged events in flight.' }),
}

export const GroupView: TUnsafe<GroupMessage> = Type.Unsafe(Type.Object(group))
export const TopicView: TUnsafe<TopicMessage> = Type.Unsafe(
  Type.Object({
    topic: Type.String(),
    first: Type.Integer({ description: 'Sequence of the oldest stored event.' }),
    last: Type.Integer({ description: 'Sequence of the newest event ever published.' }),
    bytes: Type.Integer({ description: 'Approximate size.' }),
    groups: Type.Optional(
      Type.Array(
        Type.Object({
          ...group,
          lag: Type.Integer({ description: 'Stored events after acked.' }),
        }),
        { description: 'Only if requested.' },
      ),
    ),
  }),
)

/** Maximum number of concurrent group queries, because with NATS each query is a request. */
const MAX_CONCURRENT = 16

export function toTopicMessage({ topic, first, last, bytes }: TopicState): TopicMessage {
  return { topic, first, last, bytes }
}

export function toGroupMessage({ name, acked, pending }: GroupState): GroupMessage {
  return { group: name, acked, pending }
}

/** Adds the groups to topics. @throws the reason of the abort signal. */
export async function withGroups(
  events: Events,
  topics: readonly TopicState[],
  signal: AbortSignal,
): Promise<TopicMessage[]> {
  const messages: TopicMessage[] = []
  while (messages.length < topics.length) {
    signal.throwIfAborted()
    const some = topics.slice(messages.length, messages.length + MAX_CONCURRENT)
    const groups = await Promise.all(some.map((topic) => events.listGroups(topic)))
    for (const [i, topic] of some.entries())
      messages.push({
        ...toTopicMessage(topic),
        groups: groups[i]!.map((state) => ({
          ...toGroupMessage(state),
          lag: lagOf(topic, state),
        })),
      })
  }
  return messages
}

/**
 * Returns the lag. Events removed by retention count as acknowledged, and a group may be ahead of
 * its topic.
 */
function lagOf({ first, last }: TopicState, { acked }: GroupState): number {
  return Math.max(0, last - Math.max(acked, first - 1))
}
