import { useRef } from 'preact/hooks'
import { type CallState, useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'
import type { TopicMessage } from './event.ts'

const EVERY_MS = 5000
/** Of the time, at most a part in so many is spent on it: with NATS many topics are many questions. */
const REST = 20

/** Topics with their groups, now and every few seconds. @param topic empty: all of the namespace. */
export function useTopics(topic: string): CallState<readonly TopicMessage[]> {
  const restMs = useRef(0)
  const found = useCall(
    async (signal) => {
      const request = { topic, groups: true }
      const { body, tookMs } = await call<{ topics: readonly TopicMessage[] }>(
        'events',
        'Stream.Topics',
        request,
        { signal },
      )
      restMs.current = tookMs * REST
      return body.topics
    },
    [topic],
  )
  usePolling(found, Math.max(EVERY_MS, restMs.current))
  return found
}

/** A topic as it is now, without its groups; undefined: it is not there. */
export async function readTopic(topic: string): Promise<TopicMessage | undefined> {
  type Reply = { readonly topics: readonly TopicMessage[] }
  return (await call<Reply>('events', 'Stream.Topics', { topic })).body.topics[0]
}
