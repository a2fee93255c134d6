import type { Maybe } from '../../../core/chain.ts'
import type { RegistryEvent, Service, WatchOptions } from '../../../core/contracts/registry.ts'
import { findChanges } from '../../../core/registry-changes.ts'
import { createWatchers } from '../../../core/registry-watchers.ts'
import { type BlockingQueryOptions, startBlockingQuery } from './blocking-query.ts'
import type { Answer } from './client.ts'

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

export function createSharedWatch({
  read,
  onIdle,
  isTold = () => true,
  ...options
}: SharedWatchOptions): SharedWatch {
  const { watch, emit } = createWatchers()
  const outageListeners = new Set<{
    readonly tell: (reason: Error | undefined) => void
    readonly idleMs: () => number
  }>()
  let listeners = 0
  /** Undefined: not asked yet. What the first answer tells is no change. */
  let services: readonly Service[] | undefined

  const query = startBlockingQuery({
    ...options,
    idleMs: () => Math.min(...[...outageListeners].map(({ idleMs }) => idleMs())),
    onAnswer: async (answer) => take(await read(answer)),
    onOutage(reason) {
      for (const { tell } of outageListeners) tell(reason)
    },
  })

  function take(told: readonly Service[]): void {
    const before = services
    services = told
    if (before !== undefined && before !== told)
      for (const event of findChanges(before.filter(isTold), told.filter(isTold))) emit(event)
  }

  let isSettled = false
  void query.settled.then(() => {
    isSettled = true
  })

  return {
    settled: query.settled,
    isSettled: () => isSettled,
    services: () => (query.failure() === undefined ? services : undefined),
    hurry: query.hurry,
    stop: query.stop,

    learn(told) {
      // Before the first answer nothing is known, and what comes with it is no change.
      if (services === undefined) return
      query.doubt()
      take(told)
    },

    add(listener, { onOutage, idleMs = () => 0 } = {}) {
      const unwatch = watch(listener)
      const entry = { tell: toSafe(onOutage), idleMs }
      let stopped = false
      listeners++
      outageListeners.add(entry)
      if (query.failure() !== undefined)
        queueMicrotask(() => {
          if (!stopped && query.failure() !== undefined) entry.tell(query.failure())
        })
      return () => {
        if (stopped) return
        stopped = true
        unwatch()
        outageListeners.delete(entry)
        if (--listeners > 0) return
        query.stop()
        onIdle()
      }
    },
  }
}

/** A listener whose fault costs the others nothing. */
function toSafe(onOutage: WatchOptions['onOutage']): (reason: Error | undefined) => void {
  return (reason) => {
    try {
      onOutage?.(reason)
    } catch (error) {
      process.emitWarning(error instanceof Error ? error : String(error))
    }
  }
}
