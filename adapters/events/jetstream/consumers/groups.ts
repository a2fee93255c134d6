import type { GroupState } from '../../../../core/contracts/events.ts'
import { parseConsumerName, type TopicNames } from '../names.ts'
import type { Session } from '../session.ts'
import { findStream } from '../topics.ts'

/** Lists the named groups of a topic, which are durable consumers of its stream. */
export async function listGroups(session: Session, { stream }: TopicNames): Promise<GroupState[]> {
  const info = await findStream(session, stream)
  if (info === undefined) return []
  const { first_seq: first } = info.state
  const groups: GroupState[] = []
  for await (const consumer of session.consumers.list(stream)) {
    const { config, num_ack_pending: pending, ack_floor, delivered } = consumer
    if (config.durable_name === undefined) continue
    // Before its first delivery, a consumer reports the floor of the stream.
    const floor = pending === 0 ? delivered.stream_seq : ack_floor.stream_seq
    const acked = Math.max(floor, first - 1, (config.opt_start_seq ?? 1) - 1)
    groups.push({ name: parseConsumerName(config.durable_name), acked, pending })
  }
  return groups.sort((a, b) => (a.name < b.name ? -1 : 1))
}
