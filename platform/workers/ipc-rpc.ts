import type { Worker } from 'node:cluster'

/** Query sent by the primary. */
export interface IpcRequest {
  readonly ask: string
  readonly id: number
  readonly input?: unknown
}

/** Result sent by a worker. */
interface IpcResult {
  readonly answers: number
  readonly value: unknown
}

export interface IpcOptions<T> {
  /** Timeout in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /**
   * Returns whether a result ends the query without waiting for the other workers.
   *
   * @default never
   */
  readonly isFinal?: (value: T) => boolean
  /** Value sent to the workers. @default undefined */
  readonly input?: unknown
}

/** Queries worker processes over the IPC channel. */
export interface IpcClient {
  /**
   * Returns the results by worker id. A result is undefined after a timeout, a disconnect, or a
   * final result from another worker.
   */
  readonly query: <T>(
    workers: Iterable<Worker>,
    name: string,
    options?: IpcOptions<T>,
  ) => Promise<Map<number, T | undefined>>
}

/** Pending queries of a worker by id. */
type Pending = Map<number, (value?: unknown) => void>

/** Queries take milliseconds. A worker that is busy for longer is skipped. */
const TIMEOUT_MS = 5000

export function createIpcClient(): IpcClient {
  const channels = new WeakMap<Worker, Pending>()
  let last = 0

  /** Adds one message listener per worker. */
  function listen(worker: Worker): Pending {
    const pending: Pending = new Map()
    channels.set(worker, pending)
    worker.on('message', (message: unknown) => {
      if (isResult(message)) pending.get(message.answers)?.(message.value)
    })
    worker.on('exit', () => {
      for (const end of pending.values()) end()
    })
    return pending
  }

  function queryOne(
    worker: Worker,
    name: string,
    timeoutMs: number,
    input: unknown,
  ): Promise<unknown> {
    const pending = channels.get(worker) ?? listen(worker)
    const id = ++last
    return new Promise((resolve) => {
      const end = (value?: unknown): void => {
        clearTimeout(timer)
        pending.delete(id)
        resolve(value)
      }
      const timer = setTimeout(end, timeoutMs)
      pending.set(id, end)
      if (!worker.isConnected()) return end()
      worker.send({ ask: name, id, input } satisfies IpcRequest, (error) => {
        if (error !== null) end()
      })
    })
  }

  return {
    async query<T>(workers: Iterable<Worker>, name: string, options: IpcOptions<T> = {}) {
      const { timeoutMs = TIMEOUT_MS, isFinal, input } = options
      const results = new Map<number, T | undefined>()
      await new Promise<void>((resolve) => {
        const queries = Array.from(workers, async (worker) => {
          results.set(worker.id, undefined)
          const value = (await queryOne(worker, name, timeoutMs, input)) as T | undefined
          results.set(worker.id, value)
          if (value !== undefined && isFinal?.(value)) resolve()
        })
        void Promise.all(queries).then(() => resolve())
      })
      return new Map(results)
    },
  }
}

/** In a worker: handles queries by name. Unknown queries are ignored. */
export function serveIpc(handlers: Readonly<Record<string, (input: never) => unknown>>): void {
  process.on('message', async (message: unknown) => {
    if (!isRequest(message) || !Object.hasOwn(handlers, message.ask)) return
    const value = await handlers[message.ask]!(message.input as never)
    // The primary may have ended in the meantime.
    if (process.connected) process.send?.({ answers: message.id, value } satisfies IpcResult)
  })
}

function isRequest(message: unknown): message is IpcRequest {
  return typeof message === 'object' && message !== null && 'ask' in message
}

function isResult(message: unknown): message is IpcResult {
  return typeof message === 'object' && message !== null && 'answers' in message
}
