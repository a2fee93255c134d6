import { setImmediate as nextTick } from 'node:timers/promises'
import { EVERY_SOCKET, steerConnections } from '../../core/listener/reuseport-steering.ts'
import type { GatewayServer } from '../gateway/types.ts'
import { CLOSED_LISTENER, type SteerResult } from './hot-restart.ts'
import type { IpcRequest } from './ipc-rpc.ts'
import { READY, type WorkerOrder } from './workers.ts'

export interface WorkerActions {
  readonly reload: () => void
  /** Finishes requests in flight, then ends the process. */
  readonly drain: (hasSuccessor?: boolean) => void
}

/** Reports that the worker is serving, and handles messages from the primary. */
export function handlePrimaryMessages(
  api: Pick<GatewayServer, 'listener' | 'port'>,
  actions: WorkerActions,
): void {
  process.on('message', (order: WorkerOrder | IpcRequest) => {
    if (order === 'drain') actions.drain()
    else if (order === 'reload') actions.reload()
    else if (order === 'leave') void leave(actions)
    else if ('steer' in order)
      void steer(api, order.steer).then((unsteered) =>
        process.send?.({ unsteered } satisfies SteerResult),
      )
  })
  process.send?.(READY)
}

/**
 * Leaves after another event loop tick. Closing the port would reset connections that have not been
 * accepted yet; the extra tick accepts them, because the first tick only received the command.
 */
async function leave({ drain }: WorkerActions): Promise<void> {
  await nextTick()
  await nextTick()
  drain(true)
  process.send?.(CLOSED_LISTENER)
}

async function steer(
  { listener, port }: Pick<GatewayServer, 'listener' | 'port'>,
  index: number,
): Promise<string> {
  // With node:http the primary accepts connections, so no connection is bound to the socket of a
  // worker.
  if (listener === 'node') return ''
  try {
    await steerConnections(port, index)
    return ''
  } catch (error) {
    // Without steering, there is nothing to undo.
    return index === EVERY_SOCKET ? '' : (error as Error).message
  }
}
