import type { Worker } from 'node:cluster'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { EVERY_SOCKET } from '../../core/listener/reuseport-steering.ts'
import type { Log } from '../process/log.ts'

/**
 * Requests a worker to steer new connections, see `steerConnections`. The response is a {@link
 * SteerResult}.
 */
export interface SteerOrder {
  readonly steer: number
}
/**
 * Result of steering. `unsteered` is the reason why connections are not steered; empty on success.
 */
export interface SteerResult {
  readonly unsteered: string
}
/** Response of a leaving worker once it has closed its listener. */
export const CLOSED_LISTENER = 'left' as const

/** Maximum duration of a TCP handshake, limited by the round-trip time to clients. */
const HANDSHAKE_MS = 500
/**
 * File that indicates whether Linux migrates pending connections of a closed socket to other
 * sockets of the port.
 */
const MIGRATE_FILE = '/proc/sys/net/ipv4/tcp_migrate_req'

export interface HotRestartOptions {
  /** Workers to end, possibly before they are serving. */
  readonly from: readonly Worker[]
  /** The new worker that started listening first. */
  readonly to: Worker
  /** Number of sockets that {@link from} has on the port. */
  readonly sockets: number
  /** Time in milliseconds for {@link from} to end, after which they are killed. */
  readonly timeoutMs: number
  readonly log: Log
}

/**
 * Ends old workers whose port is already served by new workers. First, all new connections are
 * steered to the new workers. After pending handshakes, the old workers close the port and finish
 * their requests. Resolves when only new workers are listening.
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

/** Sends a command and returns the response, or undefined if the worker exits. */
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
