import { useRef } from 'preact/hooks'
import { type CallState, useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import type { TopicMessage } from './event.ts'

const INTERVAL_MS = 5000
/** Minimum ratio of idle time to request time, because with NATS each topic costs a request. */
const IDLE_RATIO = 20

/** Polls topics with their groups. @param topic topic name; empty for all topics of the namespace. */
export function useTopics(topic: string): CallState<readonly TopicMessage[]> {
  const idleMs = useRef(0)
  const topics = useCall(
    async (signal) => {
      const request = { topic, groups: true }
      const { body, tookMs } = await call<{ topics: readonly TopicMessage[] }>(
        'events',
        'Stream.Topics',
        request,
        { signal },
      )
      idleMs.current = tookMs * IDLE_RATIO
      return body.topics
    },
    [topic],
  )
  usePolling(topics, Math.max(INTERVAL_MS, idleMs.current))
  return topics
}

/** Reads a topic without its groups. Returns undefined if it does not exist. */
export async function readTopic(topic: string): Promise<TopicMessage | undefined> {
  type Response = { readonly topics: readonly TopicMessage[] }
  return (await call<Response>('events', 'Stream.Topics', { topic })).body.topics[0]
}
