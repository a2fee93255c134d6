import type { Worker } from 'node:cluster'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { EVERY_SOCKET } from '../../core/listener/reuseport-steering.ts'
import type { Log } from '../process/log.ts'

/** Asks a worker to have new connections steered, as of `steerConnections`; it answers with a {@link SteerAnswer}. */
export interface SteerOrder {
  readonly steer: number
}
/** Why connections are not steered; empty: they are. */
export interface SteerAnswer {
  readonly unsteered: string
}
/** What a worker that was told to leave answers: it does not listen any more. */
export const CLOSED_LISTENER = 'left' as const

/** How long a connection may take from its first packet until it can be accepted: what clients are away from us. */
const HANDSHAKE_MS = 500
/** Whether Linux gives what waits for a socket that is closed to others on its port. */
const MIGRATE_FILE = '/proc/sys/net/ipv4/tcp_migrate_req'

export interface HotRestartOptions {
  /** The processes that end, some of them perhaps before they serve. */
  readonly from: readonly Worker[]
  /** One of those that go on, the first to listen. */
  readonly to: Worker
  /** How many sockets of {@link from} share the port. */
  readonly sockets: number
  /** What {@link from} are given to end, milliseconds; then they are killed. */
  readonly timeoutMs: number
  readonly log: Log
}

/**
 * Lets processes end whose port others serve already. Those others have all new connections first; once nothing
 * can be on its way to the old ones any more, these close the port, and finish what they have. Resolves when the port is only the others'.
 */
export async function hotRestart(options: HotRestartOptions): Promise<void> {
  const { from, to, sockets, timeoutMs, log } = options
  const { unsteered = '' } = (await ask<SteerAnswer>(to, { steer: sockets }, isSteerAnswer)) ?? {}
  if (unsteered !== '' && !isMigrating())
    log.warn(
      `connections that come in as the old processes close the port may be lost: ${unsteered}; net.ipv4.tcp_migrate_req=1 of Linux helps, too`,
    )
  await delay(HANDSHAKE_MS)
  await Promise.all(from.map((worker) => endLater(worker, timeoutMs)))
  await ask(to, { steer: EVERY_SOCKET }, isSteerAnswer)
}

/** Resolves when the worker does not listen any more. */
async function endLater(worker: Worker, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), Math.min(timeoutMs, 2 ** 31 - 1))
  worker.once('exit', () => clearTimeout(timer))
  await ask(worker, 'leave', (message) => message === CLOSED_LISTENER)
}

/** What a worker answers; undefined: it has ended. */
function ask<Answer>(
  worker: Worker,
  order: SteerOrder | 'leave',
  isAnswer: (message: unknown) => boolean,
): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const settle = (answer?: Answer): void => {
      worker.off('message', onMessage)
      worker.off('exit', onExit)
      resolve(answer)
    }
    const onMessage = (message: unknown): void => {
      if (isAnswer(message)) settle(message as Answer)
    }
    const onExit = (): void => settle()
    worker.on('message', onMessage)
    worker.on('exit', onExit)
    if (worker.isDead()) settle()
    // What cannot be sent any more is followed by its exit.
    else worker.send(order, () => {})
  })
}

function isSteerAnswer(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'unsteered' in message
}

function isMigrating(): boolean {
  try {
    return readFileSync(MIGRATE_FILE, 'utf8').trim() === '1'
  } catch {
    return false
  }
}
