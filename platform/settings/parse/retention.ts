import type { EventRetention } from '../../../core/contracts/events.ts'
import { isEventName, TOPIC_NAME_RULE } from '../../../domain/events/checks.ts'
import { RETENTION_TIME, SIZE_OR_ZERO } from '../../../lib/values/amount.ts'
import { list, notAllowed } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'

const FORM = 'topic=duration[;size]'

/** Retention of individual topics by name. */
export const TOPIC_RETENTIONS: ValueType<Readonly<Record<string, Partial<EventRetention>>>> = list(
  `${FORM},...`,
  FORM,
  (texts) => {
    const retentions = new Map<string, Partial<EventRetention>>()
    for (const text of texts) {
      const [topic = '', limits, ...rest] = text.split('=').map((part) => part.trim())
      if (limits === undefined || rest.length > 0) throw notAllowed(FORM, text)
      if (!isEventName(topic))
        throw new RangeError(`names of topics ${TOPIC_NAME_RULE}, got ${JSON.stringify(topic)}`)
      if (retentions.has(topic)) throw new RangeError(`contains the duplicate topic ${topic}`)
      retentions.set(topic, parseRetention(topic, limits))
    }
    return Object.fromEntries(retentions)
  },
)

function parseRetention(topic: string, limits: string): Partial<EventRetention> {
  const [age = '', size, ...rest] = limits.split(';')
  try {
    if (rest.length > 0) throw notAllowed('duration[;size]', limits)
    const maxAgeMs = RETENTION_TIME.parse([age])
    return size === undefined ? { maxAgeMs } : { maxAgeMs, maxBytes: SIZE_OR_ZERO.parse([size]) }
  } catch (error) {
    throw new RangeError(`of the topic ${topic} ${(error as Error).message}`, { cause: error })
  }
}
