import type { EventRetention } from '../../../core/contracts/events.ts'
import { count, RETENTION_TIME, SIZE_OR_ZERO } from '../../../lib/values/amount.ts'
import { oneOf } from '../../../lib/values/value.ts'
import { TOPIC_RETENTIONS } from '../parse/retention.ts'
import { EVENT_STORE_URL } from '../parse/server-urls.ts'
import type { SettingTable } from '../setting.ts'

const SINKS = ['broker', 'events', 'both'] as const

export interface EventSettings {
  /** `memory`, `lmdb`, or the URL of a server. */
  readonly events: string
  readonly eventsReplicas: number
  readonly eventsTopics: number
  /** 0 disables the limit. */
  readonly eventsMaxAgeMs: number
  /** 0 disables the limit. */
  readonly eventsMaxBytes: number
  /** Retention of events by topic. */
  readonly eventsRetention: Readonly<Record<string, Partial<EventRetention>>>
  readonly eventSink: (typeof SINKS)[number]
}

export const EVENT_SETTINGS: SettingTable<EventSettings> = {
  events: {
    ...EVENT_STORE_URL,
    name: 'events',
    description: `Event store: ${EVENT_STORE_URL.allowed}`,
    default: 'lmdb',
    only: 'server',
    live: false,
  },
  eventsReplicas: {
    ...count(1, 5),
    name: 'events_replicas',
    description: 'Number of NATS servers that store each event, for new topics',
    default: '1',
    only: 'server',
    live: false,
  },
  eventsTopics: {
    ...count(1, 100_000),
    name: 'events_topics',
    description:
      'Maximum number of topics per namespace, including dead-letter topics; further topics are rejected with 429',
    default: '10000',
    only: 'server',
    live: false,
  },
  eventsMaxAgeMs: {
    ...RETENTION_TIME,
    name: 'events_max_age',
    description: 'Retention time of events; none disables the limit',
    default: '7d',
    only: 'server',
    live: false,
  },
  eventsMaxBytes: {
    ...SIZE_OR_ZERO,
    name: 'events_max_bytes',
    description: 'Retention size of a topic; none disables the limit',
    default: '1gb',
    only: 'server',
    live: false,
  },
  eventsRetention: {
    ...TOPIC_RETENTIONS,
    name: 'events_retention',
    description:
      'Retention time and size of individual topics in all namespaces, such as audit=none;none',
    default: '',
    only: 'server',
    live: false,
  },
  eventSink: {
    ...oneOf(SINKS, 'broker, events or both'),
    name: 'event_sink',
    description:
      'Destination of requests to endpoints of the handler event: the broker, or events, which stores them',
    default: 'broker',
    only: 'server',
    live: false,
  },
}
