/** Path of a topic's page. */
export function toTopicPath(topic: string, tab?: string): string {
  const path = `/events/${encodeURIComponent(topic)}`
  return tab === undefined ? path : `${path}?tab=${tab}`
}
