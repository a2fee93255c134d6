import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContestantName, StoreGoals } from './contestant.ts'
import type { Load } from './measure.ts'

/** A store in a separate process. */
export interface RemoteContestant {
  readonly name: ContestantName
  /** Goals; undefined for stores used only for comparison. */
  readonly goals: StoreGoals | undefined
  /** Returns the same result as `measure`. */
  readonly measure: () => Promise<number[]>
  readonly close: () => Promise<void>
}

const PROGRAM = fileURLToPath(
  new URL(`./contestant-process${extname(import.meta.url)}`, import.meta.url),
)

/** Starts a store and fills it. */
export async function startContestant(
  name: ContestantName,
  folder: string,
  { records, seconds }: Load,
): Promise<RemoteContestant> {
  const child = fork(PROGRAM, [name, folder, String(records), String(seconds)])
  const exited = once(child, 'exit')
  const close = async (): Promise<void> => {
    if (child.connected) child.disconnect()
    await exited
  }
  const goals = (await receiveMessage(child, name)) as StoreGoals | null
  return {
    name,
    goals: goals ?? undefined,
    measure() {
      child.send('measure')
      return receiveMessage(child, name) as Promise<number[]>
    },
    close,
  }
}

async function receiveMessage(child: ChildProcess, name: string): Promise<unknown> {
  const ended = new AbortController()
  const { signal } = ended
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${name} exited with status ${code}`)
      }),
    ])
  } finally {
    ended.abort()
  }
}
