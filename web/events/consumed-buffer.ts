import { Recent } from '../state/ring-buffer.ts'
import type { EventMessage } from './event.ts'

/** Events that stay: the newest. */
export const MAX_EVENTS = 5000
/** Size of the payloads and metadata that stay, about. */
export const MAX_EVENT_BYTES: number = 32 * 1024 * 1024

/** Events that were consumed. */
export class ConsumedEvents {
  readonly #events = new Recent<EventMessage>({ count: MAX_EVENTS, bytes: MAX_EVENT_BYTES, sizeOf })
  #count = 0
  #last: number | undefined

  push(event: EventMessage): void {
    this.#events.push(event)
    this.#last = Math.max(this.#last ?? 0, event.sequence)
    this.#count++
  }

  /** Those that stay; the same list until there is another event. */
  get all(): readonly EventMessage[] {
    return this.#events.all
  }

  /** All there were. */
  get count(): number {
    return this.#count
  }

  /** Highest sequence; undefined: there was none. */
  get last(): number | undefined {
    return this.#last
  }
}

function sizeOf({ payload, metadata }: EventMessage): number {
  let bytes = payload.length
  for (const [name, value] of Object.entries(metadata)) bytes += name.length + value.length
  return bytes
}
