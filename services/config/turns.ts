import { unavailable } from '../../sdk/errors.ts'

/** Work that is done one by one for each name. */
export interface Turns {
  /**
   * Does work once all that was taken before it for this name is done.
   *
   * @param bytes what it holds while it waits.
   * @throws {GatewayError} 503 when too much waits, or nothing is taken any more.
   */
  readonly take: <T>(name: string, bytes: number, work: () => Promise<T>) => Promise<T>
  /** Takes nothing more; resolves when everything is done. */
  readonly close: () => Promise<void>
}

/** What waiting work takes besides. */
const OVERHEAD_BYTES = 1000

export function createTurns(maxWaitingBytes: number): Turns {
  const last = new Map<string, Promise<void>>()
  let waitingBytes = 0
  let closed = false

  return {
    async take(name, bytes, work) {
      if (closed) throw unavailable('config', 'the configuration is being closed')
      const held = bytes + OVERHEAD_BYTES
      if (waitingBytes + held > maxWaitingBytes)
        throw unavailable('config', 'too many changes of the configuration are waiting')
      waitingBytes += held
      const result = (last.get(name) ?? Promise.resolve()).then(work)
      const done = result.then(
        () => {},
        () => {},
      )
      last.set(name, done)
      try {
        return await result
      } finally {
        waitingBytes -= held
        if (last.get(name) === done) last.delete(name)
      }
    },

    async close() {
      closed = true
      await Promise.all(last.values())
    },
  }
}
