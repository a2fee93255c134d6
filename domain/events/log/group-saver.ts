import type { EventTopic } from '../../../core/contracts/events.ts'
import { createGroupCommit } from '../../../lib/async/batcher.ts'
import { eventsError } from '../errors.ts'
import type { EventLog, GroupSave } from './log.ts'

/** A group whose state is stored. */
export interface SavableGroup {
  /** Returns the state to be stored, or undefined if the group has ended. */
  readonly format: () => Uint8Array | undefined
}

/** Stores the states of groups, batched per tick. */
export interface GroupSaver {
  /** Schedules a save of the state at the end of the tick. Resolves once it is stored. */
  readonly save: (topic: EventTopic, name: string, group: SavableGroup) => Promise<void>
  readonly drained: () => Promise<void>
}

interface Saving {
  readonly topic: EventTopic
  readonly name: string
  readonly group: SavableGroup
}

export function createGroupSaver(log: Pick<EventLog, 'saveGroups'>): GroupSaver {
  const waiting = new Map<SavableGroup, Promise<void>>()

  const queue = createGroupCommit<Saving, void>({
    async commit(items) {
      const saves: GroupSave[] = []
      for (const { topic, name, group } of items) {
        waiting.delete(group)
        const state = group.format()
        if (state !== undefined) saves.push({ topic, name, state })
      }
      if (saves.length > 0) await log.saveGroups(saves)
      return items.map(() => undefined)
    },
    sizeOf: () => 1,
    toOverflowError: () => eventsError(503, 'too many pending groups'),
  })

  return {
    save(topic, name, group) {
      let saved = waiting.get(group)
      if (saved === undefined) {
        saved = queue.push({ topic, name, group })
        waiting.set(group, saved)
      }
      return saved
    },

    drained: queue.drained,
  }
}
