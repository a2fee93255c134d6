import { setImmediate as turn } from 'node:timers/promises'
import { EVERY_SOCKET, steerConnections } from '../../core/listener/reuseport-steering.ts'
import type { GatewayServer } from '../gateway/gateway-server.ts'
import { CLOSED_LISTENER, type SteerAnswer } from './hot-restart.ts'
import type { IpcRequest } from './ipc-rpc.ts'
import { READY, type WorkerOrder } from './workers.ts'

export interface WorkerActions {
  readonly reload: () => void
  /** Finishes what is running, then ends the process. */
  readonly drain: (hasSuccessor?: boolean) => void
}

/** Makes a worker do what its primary says, once it has said that it serves. */
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
        process.send?.({ unsteered } satisfies SteerAnswer),
      )
  })
  process.send?.(READY)
}

/**
 * Connections wait to be accepted where a busy process is behind: closing the port would reset them. So the event loop looks
 * for them once more before: the first turn is the one that brought the order.
 */
async function leave({ drain }: WorkerActions): Promise<void> {
  await turn()
  await turn()
  drain(true)
  process.send?.(CLOSED_LISTENER)
}

async function steer(
  { listener, port }: Pick<GatewayServer, 'listener' | 'port'>,
  index: number,
): Promise<string> {
  // The primary accepts for those on node:http: no connection is any worker's before it has taken it.
  if (listener === 'node') return ''
  try {
    await steerConnections(port, index)
    return ''
  } catch (error) {
    // What was not steered needs not to be shared again.
    return index === EVERY_SOCKET ? '' : (error as Error).message
  }
}
