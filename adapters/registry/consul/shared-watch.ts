import type { RegistryEvent, Service, WatchOptions } from '../../../core/contracts/registry.ts'
import { diffServices } from '../../../core/registry/diff.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import {
  type BlockingQuery,
  type BlockingQueryOptions,
  type Pace,
  type QueryParameters,
  startBlockingQuery,
} from './blocking-query.ts'
import type { ConsulResponse } from './http/client.ts'
import type { Slots } from './watch-slots.ts'

export interface SharedWatchOptions
  extends Pick<BlockingQueryOptions, 'request' | 'slots' | 'pace'> {
  /** Reads the services of a response. An error thrown here counts as an outage. */
  readonly read: (response: ConsulResponse) => Maybe<readonly Service[]>
  /** Returns whether events include a version. @default always */
  readonly isEmitted?: (service: Service) => boolean
  /** Called when the last listener has been removed. */
  readonly onIdle: () => void
}

/** A repeated query shared by all its listeners. */
export interface SharedWatch {
  readonly add: (listener: (event: RegistryEvent) => void, options?: WatchOptions) => () => void
  /** Settles with the first response or failure. */
  readonly settled: Promise<void>
  readonly isSettled: () => boolean
  /** Services of the last response; undefined during an outage. */
  readonly services: () => readonly Service[] | undefined
  /** Queries soon because a change is expected. */
  readonly expedite: () => void
  /** Applies services that were read elsewhere. */
  readonly update: (services: readonly Service[]) => void
  readonly stop: () => void
}

export function createSharedWatch(options: SharedWatchOptions): SharedWatch {
  return new Watch(options)
}

interface Listener {
  readonly onEvent: (event: RegistryEvent) => void
  readonly onOutage: WatchOptions['onOutage']
  readonly idleMs: WatchOptions['idleMs']
}

/** Also serves as the options of its query, because there are thousands of watches. */
class Watch implements SharedWatch, BlockingQueryOptions {
  readonly #options: SharedWatchOptions
  readonly #query: BlockingQuery
  /** Copied on change, because the list may change during an event. */
  #listeners: readonly Listener[] = []
  #isSettled = false
  /** Undefined before the first response, which does not count as a change. */
  #services: readonly Service[] | undefined = undefined

  constructor(options: SharedWatchOptions) {
    this.#options = options
    this.#query = startBlockingQuery(this)
    void this.#query.settled.then(() => {
      this.#isSettled = true
    })
  }

  get slots(): Slots {
    return this.#options.slots
  }

  get pace(): Pace {
    return this.#options.pace
  }

  get settled(): Promise<void> {
    return this.#query.settled
  }

  request(parameters: QueryParameters): Promise<ConsulResponse> {
    return this.#options.request(parameters)
  }

  async onResponse(response: ConsulResponse): Promise<void> {
    this.#apply(await this.#options.read(response))
  }

  onOutage(reason: Error | undefined): void {
    for (const { onOutage } of this.#listeners) callListener(() => onOutage?.(reason))
  }

  idleMs(): number {
    return Math.min(...this.#listeners.map(({ idleMs }) => idleMs?.() ?? 0))
  }

  isSettled(): boolean {
    return this.#isSettled
  }

  services(): readonly Service[] | undefined {
    return this.#query.failure() === undefined ? this.#services : undefined
  }

  expedite(): void {
    this.#query.expedite()
  }

  update(next: readonly Service[]): void {
    // Before the first response there is no state to compare with.
    if (this.#services === undefined) return
    this.#query.invalidate()
    this.#apply(next)
  }

  add(onEvent: (event: RegistryEvent) => void, options: WatchOptions = {}): () => void {
    const { onOutage, idleMs } = options
    const listener = { onEvent, onOutage, idleMs }
    this.#listeners = [...this.#listeners, listener]
    if (this.#query.failure() !== undefined)
      queueMicrotask(() => {
        const failure = this.#query.failure()
        if (failure !== undefined && this.#listeners.includes(listener))
          callListener(() => onOutage?.(failure))
      })
    return () => {
      if (!this.#listeners.includes(listener)) return
      this.#listeners = this.#listeners.filter((entry) => entry !== listener)
      if (this.#listeners.length > 0) return
      this.#query.stop()
      this.#options.onIdle()
    }
  }

  stop(): void {
    this.#query.stop()
  }

  #apply(next: readonly Service[]): void {
    const previous = this.#services
    this.#services = next
    if (previous === undefined || previous === next) return
    const { isEmitted = () => true } = this.#options
    for (const event of diffServices(previous.filter(isEmitted), next.filter(isEmitted)))
      for (const { onEvent } of this.#listeners) callListener(() => onEvent(event))
  }
}

/** Isolates listeners, so that an error in one does not affect the others. */
function callListener(onEvent: () => void): void {
  try {
    onEvent()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
