import type { Worker } from 'node:cluster'
import type { CheckHandlers, ShareCheck } from '../../core/upstream/health/shared-check.ts'

/**
 * Message from a worker: it uses a node, no longer uses it, or found a changed state of a node that
 * it checks.
 */
type WorkerMessage =
  | { readonly check: 'open' | 'close'; readonly key: string }
  | { readonly check: 'state'; readonly key: string; readonly reason: string }

/**
 * Message from the primary: the worker must check the node on behalf of all workers, or another
 * worker reported its state.
 */
type PrimaryMessage =
  | { readonly check: 'lead'; readonly key: string }
  | { readonly check: 'state'; readonly key: string; readonly reason: string }

/** A node that workers use. */
interface CheckedNode {
  leader: Worker
  readonly workers: Set<Worker>
  /** Reason why the node is unhealthy; empty if it is healthy. */
  reason: string
}

/**
 * In the primary: returns a function that adds a worker. Each node is checked by one of the
 * workers.
 */
export function shareChecks(): (worker: Worker) => void {
  const nodes = new Map<string, CheckedNode>()

  function open(worker: Worker, key: string): void {
    const node = nodes.get(key) ?? { leader: worker, workers: new Set(), reason: '' }
    nodes.set(key, node)
    node.workers.add(worker)
    if (node.reason !== '') send(worker, { check: 'state', key, reason: node.reason })
    if (node.leader === worker) send(worker, { check: 'lead', key })
  }

  function close(worker: Worker, key: string): void {
    const node = nodes.get(key)
    if (node === undefined || !node.workers.delete(worker)) return
    const [next] = node.workers
    if (next === undefined) nodes.delete(key)
    else if (node.leader === worker) {
      node.leader = next
      send(next, { check: 'lead', key })
    }
  }

  function publish(worker: Worker, key: string, reason: string): void {
    const node = nodes.get(key)
    if (node?.leader !== worker) return
    node.reason = reason
    for (const other of node.workers)
      if (other !== worker) send(other, { check: 'state', key, reason })
  }

  return (worker) => {
    worker.once('exit', () => {
      for (const key of [...nodes.keys()]) close(worker, key)
    })
    worker.on('message', (message: WorkerMessage | undefined) => {
      if (message?.check === 'open') open(worker, message.key)
      if (message?.check === 'close') close(worker, message.key)
      if (message?.check === 'state') publish(worker, message.key, message.reason)
    })
  }
}

function send(worker: Worker, message: PrimaryMessage): void {
  if (worker.isConnected()) worker.send(message)
}

/** In a worker: shares its checks through the primary. */
export function receiveChecks(): ShareCheck {
  const checks = new Map<string, CheckHandlers>()
  process.on('message', (message: PrimaryMessage | undefined) => {
    if (message?.check === 'lead') checks.get(message.key)?.lead()
    if (message?.check === 'state') checks.get(message.key)?.receive(message.reason)
  })
  const toPrimary = (message: WorkerMessage): void => {
    // The primary may have exited.
    if (process.connected) process.send?.(message)
  }
  return (key, handlers) => {
    checks.set(key, handlers)
    toPrimary({ check: 'open', key })
    return {
      publish: (reason) => toPrimary({ check: 'state', key, reason }),
      close() {
        checks.delete(key)
        toPrimary({ check: 'close', key })
      },
    }
  }
}
