import type { Worker } from 'node:cluster'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { EVERY_SOCKET } from '../../core/listener/reuseport-steering.ts'
import type { Log } from '../process/log.ts'

/** Requests a worker to steer new connections, see `steerConnections`; the response is a {@link SteerResult}. */
export interface SteerOrder {
  readonly steer: number
}
/** `unsteered` is the reason why connections are not steered; empty on success. */
export interface SteerResult {
  readonly unsteered: string
}
/** Response of a leaving worker that has closed its listener. */
export const CLOSED_LISTENER = 'left' as const

/** Maximum duration of a TCP handshake: the round-trip time to clients. */
const HANDSHAKE_MS = 500
/** Whether Linux migrates pending connections of a closed socket to other sockets of the port. */
const MIGRATE_FILE = '/proc/sys/net/ipv4/tcp_migrate_req'

export interface HotRestartOptions {
  /** Workers to end, possibly before they serve. */
  readonly from: readonly Worker[]
  /** New worker that listens first. */
  readonly to: Worker
  /** Number of sockets of {@link from} on the port. */
  readonly sockets: number
  /** Time for {@link from} to end in milliseconds, after which they are killed. */
  readonly timeoutMs: number
  readonly log: Log
}

/**
 * Ends old workers whose port new workers already serve. First, all new connections are steered to the new workers; after pending
 * handshakes, the old ones close the port and finish their requests. Resolves when only new workers listen.
 */
export async function hotRestart(options: HotRestartOptions): Promise<void> {
  const { from, to, sockets, timeoutMs, log } = options
  const { unsteered = '' } =
    (await request<SteerResult>(to, { steer: sockets }, isSteerResult)) ?? {}
  if (unsteered !== '' && !isMigrating())
    log.warn(
      `connections that arrive while old workers close the port may be reset: ${unsteered}; the Linux setting net.ipv4.tcp_migrate_req=1 prevents this`,
    )
  await delay(HANDSHAKE_MS)
  await Promise.all(from.map((worker) => drainWorker(worker, timeoutMs)))
  await request(to, { steer: EVERY_SOCKET }, isSteerResult)
}

/** Resolves when the worker has closed its listener. */
async function drainWorker(worker: Worker, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), Math.min(timeoutMs, 2 ** 31 - 1))
  worker.once('exit', () => clearTimeout(timer))
  await request(worker, 'leave', (message) => message === CLOSED_LISTENER)
}

/** Sends an order and returns the response; undefined if the worker exits. */
function request<Result>(
  worker: Worker,
  order: SteerOrder | 'leave',
  isResult: (message: unknown) => boolean,
): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const settle = (result?: Result): void => {
      worker.off('message', onMessage)
      worker.off('exit', onExit)
      resolve(result)
    }
    const onMessage = (message: unknown): void => {
      if (isResult(message)) settle(message as Result)
    }
    const onExit = (): void => settle()
    worker.on('message', onMessage)
    worker.on('exit', onExit)
    if (worker.isDead()) settle()
    // A failed send is followed by the exit event.
    else worker.send(order, () => {})
  })
}

function isSteerResult(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'unsteered' in message
}

function isMigrating(): boolean {
  try {
    return readFileSync(MIGRATE_FILE, 'utf8').trim() === '1'
  } catch {
    return false
  }
}
