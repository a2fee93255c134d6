import { type CallState, useCall } from '../hooks.ts'
import { call } from '../rpc/caller.ts'
import { useRefresh } from '../use-refresh.ts'
import type { TopicMessage } from './event.ts'

/** Topics with their groups, now and every few seconds. @param topic empty: all of the namespace. */
export function useTopics(topic: string): CallState<readonly TopicMessage[]> {
  const found = useCall(
    async (signal) => {
      const request = { topic, groups: true }
      const { body } = await call<{ topics: readonly TopicMessage[] }>(
        'events',
        'Stream.Topics',
        request,
        { signal },
      )
      return body.topics
    },
    [topic],
  )
  useRefresh(found)
  return found
}
