import cluster, { type Worker } from 'node:cluster'
import { WORKER_COUNT_VARIABLE } from '../../core/limits/worker-count.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { type Address, formatAddress, parseGatewayAddress } from '../settings/parse/address.ts'
import { hotRestart, type SteerOrder } from './hot-restart.ts'
import { createIpcClient, type IpcOptions } from './ipc-rpc.ts'

/** Message from the primary to a worker. `leave` is a drain while other workers serve the port. */
export type WorkerOrder = 'drain' | 'leave' | 'reload' | SteerOrder
/** Message from a worker that is serving. */
export const READY = 'ready' as const

export interface WorkersOptions {
  readonly count: number
  /** Address shared by the workers. */
  readonly address: Address
  readonly http2Address?: Address | undefined
  /** Names and addresses of the additional listeners in `listen:`. */
  readonly others?: readonly { readonly name: string; readonly address: Address }[]
  /**
   * Configuration file of the workers, even if it is missing when a worker starts; undefined if no
   * file is used.
   */
  readonly config: () => string | undefined
  readonly log: Log
  /** Called for each worker before it runs. */
  readonly attach?: ((worker: Worker) => void) | undefined
  /** Drain timeout in milliseconds, after which a worker is killed. */
  readonly drainTimeoutMs: () => number
  /** Drains the workers, even while they are starting. */
  readonly signal?: AbortSignal
}

/** Worker processes that share a port. */
export interface Workers {
  readonly reload: () => void
  /**
   * Queries all serving workers. Returns results by worker id. A result is undefined after a
   * timeout or if another result was final.
   */
  readonly query: <T>(
    name: string,
    options?: IpcOptions<T>,
  ) => Promise<ReadonlyMap<number, T | undefined>>
  /** Stops restarting workers. */
  readonly leave: () => void
  /**
   * Replaces all workers with new ones, which load everything again. The old workers drain once the
   * new ones are serving.
   *
   * @throws {WorkerStartError} if no new worker starts. The old workers then continue to serve.
   */
  readonly replace: () => Promise<void>
  /** Drains all workers. Resolves when they have exited. */
  readonly drain: () => Promise<void>
}

/** Environment variable with the address chosen by the primary. */
export const ADDRESS_VARIABLE = 'MX_WORKER_ADDRESS'
/** Environment variable with the HTTP/2 address chosen by the primary. */
export const HTTP2_ADDRESS_VARIABLE = 'MX_WORKER_HTTP2_ADDRESS'
/**
 * Environment variable with the names and addresses of the additional listeners in `listen:`, as a JSON list.
 */
const OTHERS_VARIABLE = 'MX_WORKER_LISTENERS'
/** Set for a worker that replaces an ended worker. It may request the last valid configuration. */
export const IN_PLACE_VARIABLE = 'MX_WORKER_IN_PLACE'
/** Environment variable with the version of the primary. */
const VERSION_VARIABLE = 'MX_WORKER_VERSION'

const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 10_000
/**
 * Uptime after which a worker is considered healthy: its next crash starts with the shortest
 * restart delay.
 */
const HEALTHY_MS = 30_000
/** Added to the drain timeout to give a worker time to close remaining requests. */
const GRACE_MS = 2000

/**
 * Starts worker processes and restarts them when they end unexpectedly, with exponential backoff
 * from 100 ms to 10 s.
 *
 * @throws {WorkerStartError} if a worker does not start. All workers are ended in this case.
 */
export async function startWorkers({
  count,
  address,
  http2Address,
  others = [],
  config,
  log,
  attach,
  drainTimeoutMs,
  signal: stopping,
}: WorkersOptions): Promise<Workers> {
  const environment = {
    [ADDRESS_VARIABLE]: formatAddress(address),
    [VERSION_VARIABLE]: readVersion(),
    ...(http2Address && { [HTTP2_ADDRESS_VARIABLE]: formatAddress(http2Address) }),
    ...(others.length > 0 && {
      [OTHERS_VARIABLE]: JSON.stringify(
        others.map(({ name, address }) => [name, formatAddress(address)]),
      ),
    }),
    [WORKER_COUNT_VARIABLE]: String(count),
  }
  const running = new Set<Worker>()
  const serving = new Set<Worker>()
  /** Workers that have been replaced and are draining. */
  const replaced = new Set<Worker>()
  const ipc = createIpcClient()
  /**
   * Generation of each worker. Workers of the current generation replace earlier workers, including
   * their restarts.
   */
  const generations = new WeakMap<Worker, number>()
  /** Pending restarts and their generation. */
  const restarts = new Map<NodeJS.Timeout, number>()
  let generation = 0
  let leaving = false
  let draining: Promise<void> | undefined
  let reloads = 0
  let onAllExited: (() => void) | undefined

  const start = (waitMs: number, workerGeneration = generation): Promise<Worker> => {
    const file = config()
    const worker = cluster.fork({
      ...environment,
      ...(file && { MX_API_CONFIG: file }),
      ...(waitMs > 0 && { [IN_PLACE_VARIABLE]: 'true' }),
    })
    generations.set(worker, workerGeneration)
    const startedMs = performance.now()
    const reloadsBefore = reloads
    let ready = false
    running.add(worker)
    attach?.(worker)
    return new Promise((resolve, reject) => {
      worker.on('message', (message) => {
        if (message !== READY) return
        ready = true
        serving.add(worker)
        // The worker could not receive commands that were sent earlier.
        if (draining !== undefined) worker.send('drain' satisfies WorkerOrder)
        else if (replaced.has(worker)) worker.send('leave' satisfies WorkerOrder)
        else if (reloads !== reloadsBefore) worker.send('reload' satisfies WorkerOrder)
        resolve(worker)
      })
      const onExit = (code: number | null, signal: string): void => {
        running.delete(worker)
        serving.delete(worker)
        if (!ready) reject(new WorkerStartError(code ?? 1))
        if (draining !== undefined) {
          if (running.size === 0) onAllExited?.()
        } else if (!replaced.delete(worker) && !leaving && (ready || waitMs > 0)) {
          const healthy = performance.now() - startedMs > HEALTHY_MS
          const nextMs =
            healthy || waitMs === 0 ? RESTART_MIN_MS : Math.min(waitMs * 2, RESTART_MAX_MS)
          log.error(
            { worker: worker.process.pid, code, signal, restartInMs: nextMs },
            'worker exited; restarting',
          )
          restartLater(nextMs, workerGeneration)
        }
      }
      // Sending to an exiting worker also fails. A failed fork emits only this event.
      worker.on('error', (error) => {
        if (worker.process.pid !== undefined) return
        log.error({ err: error }, 'cannot start worker process')
        onExit(1, '')
      })
      worker.on('exit', (code, signal) => onExit(code, signal))
    })
  }

  const restartLater = (waitMs: number, workerGeneration: number): void => {
    const timer = setTimeout(() => {
      restarts.delete(timer)
      start(waitMs, workerGeneration).catch(() => {
        // The exit has been logged, and the next restart is scheduled.
      })
    }, waitMs)
    restarts.set(timer, workerGeneration)
  }

  const cancelRestarts = (isAffected: (workerGeneration: number) => boolean): void => {
    for (const [timer, workerGeneration] of restarts) {
      if (!isAffected(workerGeneration)) continue
      clearTimeout(timer)
      restarts.delete(timer)
    }
  }

  const broadcast = (order: WorkerOrder): void => {
    for (const worker of running) if (worker.isConnected()) worker.send(order)
  }

  const replace = async (): Promise<void> => {
    const next = generation + 1
    const isNew = (worker: Worker): boolean => generations.get(worker) === next
    const isOld = (worker: Worker): boolean => !replaced.has(worker) && !isNew(worker)
    const sockets = [...serving].filter(isOld).length
    const first = await start(0, next)
    const others = Array.from({ length: count - 1 }, () => start(0, next))
    const started = await Promise.allSettled(others)
    if (leaving) return
    const to = serving.has(first) ? first : [...serving].find(isNew)
    if (to === undefined) {
      cancelRestarts((workerGeneration) => workerGeneration === next)
      throw new WorkerStartError(first.process.exitCode ?? 1)
    }
    generation = next
    const from = [...running].filter(isOld)
    for (const worker of from) replaced.add(worker)
    cancelRestarts((workerGeneration) => workerGeneration < next)
    for (const { status } of started) if (status === 'rejected') restartLater(RESTART_MIN_MS, next)
    await hotRestart({ from, to, sockets, timeoutMs: drainTimeoutMs() + GRACE_MS, log })
  }

  const leave = (): void => {
    leaving = true
    cancelRestarts(() => true)
  }

  const drain = (): Promise<void> => {
    draining ??= drainAll()
    return draining
  }

  const drainAll = async (): Promise<void> => {
    leave()
    if (running.size === 0) return
    const allExited = new Promise<void>((resolve) => {
      onAllExited = resolve
    })
    broadcast('drain')
    const killer = setTimeout(
      () => {
        for (const worker of running) worker.process.kill('SIGKILL')
      },
      Math.min(drainTimeoutMs() + GRACE_MS, 2 ** 31 - 1),
    )
    await allExited
    clearTimeout(killer)
  }

  stopping?.addEventListener('abort', () => void drain(), { once: true })
  try {
    // The first worker starts alone, so that an error is reported only once.
    await start(0)
    if (draining === undefined) await Promise.all(Array.from({ length: count - 1 }, () => start(0)))
  } catch (error) {
    await drain()
    throw error
  }
  const reload = (): void => {
    reloads++
    broadcast('reload')
  }
  return {
    reload,
    replace,
    query: (name, options) => ipc.query(serving, name, options),
    leave,
    drain,
  }
}

/** A worker exited before it was serving, after logging the cause. */
class WorkerStartError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`a worker process exited with status ${status} before it was ready`)
    this.name = 'WorkerStartError'
    this.status = status
  }
}

/** In a worker: returns the addresses of the additional listeners by name. */
export function readOtherAddresses(env: NodeJS.ProcessEnv): ReadonlyMap<string, Address> {
  const others = JSON.parse(env[OTHERS_VARIABLE] ?? '[]') as [name: string, address: string][]
  return new Map(others.map(([name, text]) => [name, parseGatewayAddress(text)]))
}

/**
 * In a worker: returns a warning if the primary still has a different version after a hot restart,
 * otherwise undefined.
 */
export function explainVersion(
  env: NodeJS.ProcessEnv,
  current: string = readVersion(),
): string | undefined {
  const first = env[VERSION_VARIABLE]
  if (first === undefined || first === current) return undefined
  return `this worker is mx ${current}, but the primary process is still ${first}: restart the gateway to update it`
}
