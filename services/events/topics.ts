import type { GroupState, TopicState } from '../../core/contracts/events.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import type { Events } from '../../domain/events/events.ts'

/** A group as it is told. */
export interface GroupMessage {
  readonly group: string
  readonly acked: number
  readonly pending: number
}

/** One of a topic that is told with its groups. */
export interface LaggingGroupMessage extends GroupMessage {
  readonly lag: number
}

/** A topic as it is told. */
export interface TopicMessage {
  readonly topic: string
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly groups?: readonly LaggingGroupMessage[]
}

const group = {
  group: Type.String(),
  acked: Type.Integer({ description: 'Everything is done up to this sequence.' }),
  pending: Type.Integer({ description: 'Events that wait to be acknowledged.' }),
}

export const GroupView: TUnsafe<GroupMessage> = Type.Unsafe(Type.Object(group))
export const TopicView: TUnsafe<TopicMessage> = Type.Unsafe(
  Type.Object({
    topic: Type.String(),
    first: Type.Integer({ description: 'Sequence of the oldest event that is kept.' }),
    last: Type.Integer({ description: 'Sequence of the newest event there ever was.' }),
    bytes: Type.Integer({ description: 'About what they take.' }),
    groups: Type.Optional(
      Type.Array(
        Type.Object({
          ...group,
          lag: Type.Integer({ description: 'Events that are kept, and stand behind acked.' }),
        }),
        { description: 'Where they were asked for.' },
      ),
    ),
  }),
)

/** Topics whose groups are asked for at a time: with NATS each is a question of its own. */
const AT_A_TIME = 16

export function toTopicMessage({ topic, first, last, bytes }: TopicState): TopicMessage {
  return { topic, first, last, bytes }
}

export function toGroupMessage({ name, acked, pending }: GroupState): GroupMessage {
  return { group: name, acked, pending }
}

/** Topics with their groups. @throws the reason of the signal, once nobody waits any more. */
export async function withGroups(
  events: Events,
  topics: readonly TopicState[],
  signal: AbortSignal,
): Promise<TopicMessage[]> {
  const told: TopicMessage[] = []
  while (told.length < topics.length) {
    signal.throwIfAborted()
    const some = topics.slice(told.length, told.length + AT_A_TIME)
    const groups = await Promise.all(some.map((topic) => events.listGroups(topic)))
    for (const [i, topic] of some.entries())
      told.push({
        ...toTopicMessage(topic),
        groups: groups[i]!.map((state) => ({
          ...toGroupMessage(state),
          lag: lagOf(topic, state),
        })),
      })
  }
  return told
}

/** What retention removed counts as done; a group may begin ahead of its topic. */
function lagOf({ first, last }: TopicState, { acked }: GroupState): number {
  return Math.max(0, last - Math.max(acked, first - 1))
}
