import type { Worker } from 'node:cluster'
import { settlesWithin } from '../../lib/async/timeout.ts'
import type { DrainedNode } from '../gateway/nodes/drained-nodes.ts'

/** Request from a starting worker. */
interface DrainsRequest {
  readonly drains: 'request'
}

/** Message from the primary: the drained nodes, sent initially and after each change. */
interface DrainsUpdate {
  readonly drains: readonly DrainedNode[]
}

/** The drained nodes, managed by the primary. */
export interface SharedDrains {
  /** Sends the drained nodes to a worker. */
  readonly attach: (worker: Worker) => void
  /** Replaces the drained nodes in all workers. */
  readonly set: (nodes: readonly DrainedNode[]) => void
}

/** Timeout, because a primary of an earlier version does not respond. */
const TIMEOUT_MS = 1000

export function shareDrains(): SharedDrains {
  const workers = new Set<Worker>()
  let current: readonly DrainedNode[] = []
  const send = (worker: Worker): void => {
    if (worker.isConnected()) worker.send({ drains: current } satisfies DrainsUpdate)
  }
  return {
    attach(worker) {
      workers.add(worker)
      worker.once('exit', () => workers.delete(worker))
      worker.on('message', (message: DrainsRequest | undefined) => {
        if (message?.drains === 'request') send(worker)
      })
    },

    set(nodes) {
      current = nodes
      for (const worker of workers) send(worker)
    },
  }
}

/** In a worker: the drained nodes as updated by the primary. */
export interface ReceivedDrains {
  /** False if the primary runs an earlier version. */
  readonly isSupported: boolean
  readonly current: readonly DrainedNode[]
  /** Calls `onChange` immediately and after each change. */
  readonly subscribe: (onChange: (nodes: readonly DrainedNode[]) => void) => void
}

/** In a worker: requests the drained nodes from the primary. */
export async function receiveDrains(): Promise<ReceivedDrains> {
  let current: readonly DrainedNode[] = []
  let notify: ((nodes: readonly DrainedNode[]) => void) | undefined
  const received = new Promise<void>((resolve) => {
    process.on('message', (message: DrainsUpdate | undefined) => {
      if (!Array.isArray(message?.drains)) return
      current = message.drains
      notify?.(current)
      resolve()
    })
  })
  process.send?.({ drains: 'request' } satisfies DrainsRequest)
  const isSupported = await settlesWithin(received, TIMEOUT_MS)
  return {
    isSupported,
    get current() {
      return current
    },

    subscribe(onChange) {
      notify = onChange
      onChange(current)
    },
  }
}
