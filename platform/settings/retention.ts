import type { EventRetention } from '../../core/contracts/events.ts'
import { isEventName, NAME_RULE } from '../../domain/events/checks.ts'
import { parseDuration, parseSize } from '../../lib/text/units.ts'

/** What NATS can say in nanoseconds, and more than anybody needs. */
const MAX_AGE_MS = 100 * 365 * 86_400_000
const MIN_AGE_MS = 1000

/** How long events are kept, milliseconds; `none` is 0: no limit. @throws {RangeError} */
export function parseMaxAge(text: string): number {
  const ms = parseDuration(text)
  if (ms === Number.POSITIVE_INFINITY) return 0
  if (ms >= MIN_AGE_MS && ms <= MAX_AGE_MS) return ms
  throw new RangeError(`must be a duration from 1s to 36500d, or none, got ${JSON.stringify(text)}`)
}

/** How much of the events of a topic is kept, bytes; `none` is 0: no limit. @throws {RangeError} */
export function parseMaxBytes(text: string): number {
  const bytes = parseSize(text)
  if (bytes === Number.POSITIVE_INFINITY) return 0
  if (bytes >= 1) return bytes
  throw new RangeError(`must be a size of at least 1 byte, or none, got ${JSON.stringify(text)}`)
}

/** `topic=duration[;size]` each, by topic. @throws {RangeError} naming the topic. */
export function parseRetentions(
  texts: readonly string[],
): Readonly<Record<string, Partial<EventRetention>>> {
  const retentions = new Map<string, Partial<EventRetention>>()
  for (const text of texts) {
    const [topic = '', limits, ...rest] = text.split('=').map((part) => part.trim())
    if (limits === undefined || rest.length > 0)
      throw new RangeError(`must be topic=duration[;size], got ${JSON.stringify(text)}`)
    if (!isEventName(topic))
      throw new RangeError(`names of topics ${NAME_RULE}, got ${JSON.stringify(topic)}`)
    if (retentions.has(topic)) throw new RangeError(`names the topic ${topic} twice`)
    retentions.set(topic, parseRetention(topic, limits))
  }
  return Object.fromEntries(retentions)
}

function parseRetention(topic: string, limits: string): Partial<EventRetention> {
  const [age = '', size, ...rest] = limits.split(';')
  try {
    if (rest.length > 0)
      throw new RangeError(`must be duration[;size], got ${JSON.stringify(limits)}`)
    const maxAgeMs = parseMaxAge(age)
    return size === undefined ? { maxAgeMs } : { maxAgeMs, maxBytes: parseMaxBytes(size) }
  } catch (error) {
    throw new RangeError(`of the topic ${topic} ${(error as Error).message}`, { cause: error })
  }
}
