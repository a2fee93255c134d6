/** The page of a topic. */
export function toTopicPath(topic: string, tab?: string): string {
  const path = `/events/${encodeURIComponent(topic)}`
  return tab === undefined ? path : `${path}?tab=${tab}`
}
