import type { RegistryEvent, Service, WatchOptions } from '../../../core/contracts/registry.ts'
import { findChanges } from '../../../core/registry/diff.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import {
  type BlockingQuery,
  type BlockingQueryOptions,
  type Pace,
  type QueryParameters,
  startBlockingQuery,
} from './blocking-query.ts'
import type { Answer } from './http/client.ts'
import type { Slots } from './watch-slots.ts'

export interface SharedWatchOptions extends Pick<BlockingQueryOptions, 'ask' | 'slots' | 'pace'> {
  /** The services an answer tells of. What it throws is an outage. */
  readonly read: (answer: Answer) => Maybe<readonly Service[]>
  /** Whether a version is there as far as events go. @default always */
  readonly isTold?: (service: Service) => boolean
  /** Told when the last listener has gone. */
  readonly onIdle: () => void
}

/** One question to Consul, and all who want to hear its answers. */
export interface SharedWatch {
  readonly add: (listener: (event: RegistryEvent) => void, options?: WatchOptions) => () => void
  /** Settled with the first answer or failure. */
  readonly settled: Promise<void>
  /** Whether the first answer or failure has come. */
  readonly isSettled: () => boolean
  /** What the last answer told; undefined while Consul cannot be asked. */
  readonly services: () => readonly Service[] | undefined
  /** They have changed: they are asked for soon. */
  readonly hurry: () => void
  /** Takes over what somebody else has been told of them. */
  readonly learn: (services: readonly Service[]) => void
  readonly stop: () => void
}

export function createSharedWatch(options: SharedWatchOptions): SharedWatch {
  return new Shared(options)
}

/** Whoever wants to hear of it. */
interface Listener {
  readonly tell: (event: RegistryEvent) => void
  readonly onOutage: WatchOptions['onOutage']
  readonly idleMs: WatchOptions['idleMs']
}

/** There are thousands: one object, which the question is asked for, too. */
class Shared implements SharedWatch, BlockingQueryOptions {
  readonly #options: SharedWatchOptions
  readonly #query: BlockingQuery
  /** Another list for each change: it may change while they are told. */
  #listeners: readonly Listener[] = []
  #isSettled = false
  /** Undefined: not asked yet. What the first answer tells is no change. */
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

  ask(question: QueryParameters): Promise<Answer> {
    return this.#options.ask(question)
  }

  async onAnswer(answer: Answer): Promise<void> {
    this.#take(await this.#options.read(answer))
  }

  onOutage(reason: Error | undefined): void {
    for (const { onOutage } of this.#listeners) attempt(() => onOutage?.(reason))
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

  hurry(): void {
    this.#query.hurry()
  }

  learn(told: readonly Service[]): void {
    // Before the first answer nothing is known, and what comes with it is no change.
    if (this.#services === undefined) return
    this.#query.doubt()
    this.#take(told)
  }

  add(tell: (event: RegistryEvent) => void, options: WatchOptions = {}): () => void {
    const { onOutage, idleMs } = options
    const listener = { tell, onOutage, idleMs }
    this.#listeners = [...this.#listeners, listener]
    if (this.#query.failure() !== undefined)
      queueMicrotask(() => {
        const failure = this.#query.failure()
        if (failure !== undefined && this.#listeners.includes(listener))
          attempt(() => onOutage?.(failure))
      })
    return () => {
      if (!this.#listeners.includes(listener)) return
      this.#listeners = this.#listeners.filter((other) => other !== listener)
      if (this.#listeners.length > 0) return
      this.#query.stop()
      this.#options.onIdle()
    }
  }

  stop(): void {
    this.#query.stop()
  }

  #take(told: readonly Service[]): void {
    const before = this.#services
    this.#services = told
    if (before === undefined || before === told) return
    const { isTold = () => true } = this.#options
    for (const event of findChanges(before.filter(isTold), told.filter(isTold)))
      for (const { tell } of this.#listeners) attempt(() => tell(event))
  }
}

/** A listener's fault costs the others nothing. */
function attempt(tell: () => void): void {
  try {
    tell()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
