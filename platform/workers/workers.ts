import cluster, { type Worker } from 'node:cluster'
import { WORKER_COUNT_VARIABLE } from '../../core/limits/worker-count.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'
import { hotRestart, type SteerOrder } from './hot-restart.ts'
import { createIpcClient, type IpcOptions } from './ipc-rpc.ts'

/** What the primary tells its workers: to drain, the same while others go on serving the port, to read the configuration again; and what `hot-restart.ts` asks. */
export type WorkerOrder = 'drain' | 'leave' | 'reload' | SteerOrder
/** What a worker tells the primary: it serves. */
export const READY = 'ready' as const

export interface WorkersOptions {
  readonly count: number
  /** The address they share. */
  readonly address: Address
  /** That for HTTP/2, if there is one. */
  readonly http2Address?: Address | undefined
  /** The configuration file they read, even if it is not there when one of them starts; undefined: none as yet. */
  readonly config: () => string | undefined
  readonly log: Log
  /** Given each worker before it runs. @default nothing is done with them */
  readonly attach?: ((worker: Worker) => void) | undefined
  /** Milliseconds a worker is given to drain before it is killed. */
  readonly drainTimeoutMs: () => number
  /** Ends them in order, also while they start. @default nobody does */
  readonly signal?: AbortSignal
}

/** The processes that share the port. */
export interface Workers {
  readonly reload: () => void
  /** What those say that serve at present, by their ids; undefined: they have not by when there was enough, or the time was over. */
  readonly ask: <T>(
    what: string,
    options?: IpcOptions<T>,
  ) => Promise<ReadonlyMap<number, T | undefined>>
  /** Starts no other in the place of one that ends. */
  readonly leave: () => void
  /**
   * Replaces them by new ones, which read everything again: none of those that serve ends before others do.
   *
   * @throws {WorkerStartError} when new ones do not come up: those that serve go on.
   */
  readonly replace: () => Promise<void>
  /** Lets every worker finish its requests; resolves when all are gone. */
  readonly drain: () => Promise<void>
}

/** Address that the primary chose, told to workers through their environment. */
export const ADDRESS_VARIABLE = 'MX_WORKER_ADDRESS'
/** The same of `http2_address`. */
export const HTTP2_ADDRESS_VARIABLE = 'MX_WORKER_HTTP2_ADDRESS'
/** Set for a worker in the place of one that ended: it may ask what that served by. */
export const IN_PLACE_VARIABLE = 'MX_WORKER_IN_PLACE'
/** The version the primary was started as. */
const VERSION_VARIABLE = 'MX_WORKER_VERSION'

const RESTART_MIN_MS = 100
const RESTART_MAX_MS = 10_000
/** A worker that served this long is taken for healthy: its next crash starts with a short wait again. */
const HEALTHY_MS = 30_000
/** Over the drain timeout, for a worker to close what is left. */
const GRACE_MS = 2000

/**
 * Starts worker processes, one after the other, and keeps them running: one that ends by itself is replaced,
 * after a wait that doubles from 100 ms to 10 s while it keeps happening.
 *
 * @throws {WorkerStartError} when one does not come up; none is left running then.
 */
export async function startWorkers({
  count,
  address,
  http2Address,
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
    [WORKER_COUNT_VARIABLE]: String(count),
  }
  const running = new Set<Worker>()
  const serving = new Set<Worker>()
  /** Others are there in their place. */
  const replaced = new Set<Worker>()
  const questions = createIpcClient()
  /** Workers of a later one replace those of the ones before, also those that were started for one that crashed meanwhile. */
  const generations = new WeakMap<Worker, number>()
  /** And the generation of what is started then. */
  const restarts = new Map<NodeJS.Timeout, number>()
  let generation = 0
  let leaving = false
  let draining: Promise<void> | undefined
  let reloads = 0
  let onAllGone: (() => void) | undefined

  const start = (waitMs: number, of = generation): Promise<Worker> => {
    const file = config()
    const worker = cluster.fork({
      ...environment,
      ...(file && { MX_API_CONFIG: file }),
      ...(waitMs > 0 && { [IN_PLACE_VARIABLE]: 'true' }),
    })
    generations.set(worker, of)
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
        // Orders that were given before it could hear them.
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
          if (running.size === 0) onAllGone?.()
        } else if (!replaced.delete(worker) && !leaving && (ready || waitMs > 0)) {
          const healthy = performance.now() - startedMs > HEALTHY_MS
          const nextMs =
            healthy || waitMs === 0 ? RESTART_MIN_MS : Math.min(waitMs * 2, RESTART_MAX_MS)
          log.error(
            { worker: worker.process.pid, code, signal, restartInMs: nextMs },
            'a worker ended; starting another',
          )
          restartLater(nextMs, of)
        }
      }
      // What is sent to one that is about to end cannot arrive. Of one that did not come about there is no other sign.
      worker.on('error', (error) => {
        if (worker.process.pid !== undefined) return
        log.error({ err: error }, 'cannot start a worker process')
        onExit(1, '')
      })
      worker.on('exit', (code, signal) => onExit(code, signal))
    })
  }

  const restartLater = (waitMs: number, of: number): void => {
    const timer = setTimeout(() => {
      restarts.delete(timer)
      start(waitMs, of).catch(() => {
        // The exit of this worker was logged, and the next attempt is on its way.
      })
    }, waitMs)
    restarts.set(timer, of)
  }

  const cancelRestarts = (isOf: (of: number) => boolean): void => {
    for (const [timer, of] of restarts) {
      if (!isOf(of)) continue
      clearTimeout(timer)
      restarts.delete(timer)
    }
  }

  const tell = (order: WorkerOrder): void => {
    for (const worker of running) if (worker.isConnected()) worker.send(order)
  }

  const replace = async (): Promise<void> => {
    const next = generation + 1
    const isNext = (worker: Worker): boolean => generations.get(worker) === next
    const isOld = (worker: Worker): boolean => !replaced.has(worker) && !isNext(worker)
    const sockets = [...serving].filter(isOld).length
    const first = await start(0, next)
    const others = Array.from({ length: count - 1 }, () => start(0, next))
    const started = await Promise.allSettled(others)
    if (leaving) return
    const to = serving.has(first) ? first : [...serving].find(isNext)
    if (to === undefined) {
      cancelRestarts((of) => of === next)
      throw new WorkerStartError(first.process.exitCode ?? 1)
    }
    generation = next
    const from = [...running].filter(isOld)
    for (const worker of from) replaced.add(worker)
    cancelRestarts((of) => of < next)
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
    const allGone = new Promise<void>((resolve) => {
      onAllGone = resolve
    })
    tell('drain')
    const killer = setTimeout(
      () => {
        for (const worker of running) worker.process.kill('SIGKILL')
      },
      Math.min(drainTimeoutMs() + GRACE_MS, 2 ** 31 - 1),
    )
    await allGone
    clearTimeout(killer)
  }

  stopping?.addEventListener('abort', () => void drain(), { once: true })
  try {
    // The first alone: whatever is wrong is then told once, not by every worker.
    await start(0)
    if (draining === undefined) await Promise.all(Array.from({ length: count - 1 }, () => start(0)))
  } catch (error) {
    await drain()
    throw error
  }
  const reload = (): void => {
    reloads++
    tell('reload')
  }
  return {
    reload,
    replace,
    ask: (what, options) => questions.ask(serving, what, options),
    leave,
    drain,
  }
}

/** A worker ended before it served. It has said why; `status` is its exit status. */
class WorkerStartError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`a worker process ended with status ${status} before it served`)
    this.name = 'WorkerStartError'
    this.status = status
  }
}

/** In a worker: what to tell where its first process is of another version, after a restart; undefined: it is of the same. */
export function explainVersion(
  env: NodeJS.ProcessEnv,
  own: string = readVersion(),
): string | undefined {
  const first = env[VERSION_VARIABLE]
  if (first === undefined || first === own) return undefined
  return `this process is mx ${own}, the first one is ${first} still: restart it as a whole when it may be, for what it does itself`
}
