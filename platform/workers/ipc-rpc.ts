import type { Worker } from 'node:cluster'

/** What a worker process is asked. */
export interface IpcRequest {
  readonly ask: string
  readonly id: number
}

/** What it says. */
interface Answer {
  readonly answers: number
  readonly value: unknown
}

export interface IpcOptions<T> {
  /** How long the workers may take, milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /** Whether nobody else has to answer after one who says this. @default never */
  readonly isEnough?: (value: T) => boolean
}

/** Asks worker processes, over the channel that they have to the first one. */
export interface IpcClient {
  /** What each of them says, by its id; undefined: it has not in time or by when there was enough, or cannot be asked. */
  readonly ask: <T>(
    workers: Iterable<Worker>,
    ask: string,
    options?: IpcOptions<T>,
  ) => Promise<Map<number, T | undefined>>
}

/** What a worker has not answered yet: who waits for it, by the id of the question. */
type Waiting = Map<number, (value?: unknown) => void>

/** What is asked takes milliseconds; a worker that is busy for longer is no help. */
const ANSWER_MS = 5000

export function createIpcClient(): IpcClient {
  const channels = new WeakMap<Worker, Waiting>()
  let last = 0

  /** Listens to a worker once, however much it is asked. */
  function listen(worker: Worker): Waiting {
    const waiting: Waiting = new Map()
    channels.set(worker, waiting)
    worker.on('message', (message: unknown) => {
      if (isAnswer(message)) waiting.get(message.answers)?.(message.value)
    })
    worker.on('exit', () => {
      for (const end of waiting.values()) end()
    })
    return waiting
  }

  function askOne(worker: Worker, ask: string, timeoutMs: number): Promise<unknown> {
    const waiting = channels.get(worker) ?? listen(worker)
    const id = ++last
    return new Promise((resolve) => {
      const end = (value?: unknown): void => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(value)
      }
      const timer = setTimeout(end, timeoutMs)
      waiting.set(id, end)
      if (!worker.isConnected()) return end()
      worker.send({ ask, id } satisfies IpcRequest, (error) => {
        if (error !== null) end()
      })
    })
  }

  return {
    async ask<T>(workers: Iterable<Worker>, ask: string, options: IpcOptions<T> = {}) {
      const { timeoutMs = ANSWER_MS, isEnough } = options
      const told = new Map<number, T | undefined>()
      await new Promise<void>((resolve) => {
        const asked = Array.from(workers, async (worker) => {
          told.set(worker.id, undefined)
          const value = (await askOne(worker, ask, timeoutMs)) as T | undefined
          told.set(worker.id, value)
          if (value !== undefined && isEnough?.(value)) resolve()
        })
        void Promise.all(asked).then(() => resolve())
      })
      return new Map(told)
    },
  }
}

/** In a worker: answers what is asked, by name. What is never answered is asked in vain. */
export function serveIpc(answers: Readonly<Record<string, () => unknown>>): void {
  process.on('message', async (message: unknown) => {
    if (!isQuestion(message) || !Object.hasOwn(answers, message.ask)) return
    const value = await answers[message.ask]!()
    // The first process may have ended by now.
    if (process.connected) process.send?.({ answers: message.id, value } satisfies Answer)
  })
}

function isQuestion(message: unknown): message is IpcRequest {
  return typeof message === 'object' && message !== null && 'ask' in message
}

function isAnswer(message: unknown): message is Answer {
  return typeof message === 'object' && message !== null && 'answers' in message
}
