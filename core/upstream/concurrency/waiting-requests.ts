import { PRIORITIES, type Priority } from './concurrency-options.ts'

/** Waiting requests by priority, in order of arrival. */
export class WaitingRequests<T extends { readonly priority: Priority }> {
  readonly #lists: Readonly<Record<Priority, T[]>> = { critical: [], default: [], batch: [] }

  get size(): number {
    const { critical, default: normal, batch } = this.#lists
    return critical.length + normal.length + batch.length
  }

  add(request: T): void {
    this.#lists[request.priority].push(request)
  }

  /** Removes and returns the next request, or undefined if none is waiting. */
  takeNext(): T | undefined {
    const found = PRIORITIES.find((priority) => this.#lists[priority].length > 0)
    return found && this.#lists[found].shift()
  }

  /** Removes and returns the last request with the lowest priority below `priority`, or undefined if absent. */
  takeBelow(priority: Priority): T | undefined {
    const lower = PRIORITIES.slice(PRIORITIES.indexOf(priority) + 1)
    const found = lower.findLast((each) => this.#lists[each].length > 0)
    return found && this.#lists[found].pop()
  }

  remove(request: T): void {
    const list = this.#lists[request.priority]
    const at = list.indexOf(request)
    if (at >= 0) list.splice(at, 1)
  }
}
