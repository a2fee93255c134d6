import { Recent } from '../state/ring-buffer.ts'
import type { EventMessage } from './event.ts'

export const MAX_EVENTS = 5000
/** Approximate limit for the total size of payloads and metadata. */
export const MAX_EVENT_BYTES: number = 32 * 1024 * 1024

/** Consumed events. Only the newest are retained. */
export class ConsumedEvents {
  readonly #events = new Recent<EventMessage>({ count: MAX_EVENTS, bytes: MAX_EVENT_BYTES, sizeOf })
  #count = 0
  #last: number | undefined

  push(event: EventMessage): void {
    this.#events.push(event)
    this.#last = Math.max(this.#last ?? 0, event.sequence)
    this.#count++
  }

  /** Retained events. Returns the same array until the next push. */
  get all(): readonly EventMessage[] {
    return this.#events.all
  }

  /** Number of events, including dropped ones. */
  get count(): number {
    return this.#count
  }

  /** Highest sequence; undefined if there are no events. */
  get last(): number | undefined {
    return this.#last
  }
}

function sizeOf({ payload, metadata }: EventMessage): number {
  let bytes = payload.length
  for (const [name, value] of Object.entries(metadata)) bytes += name.length + value.length
  return bytes
}
