import type { Worker } from 'node:cluster'

/** What a worker process is asked. */
export interface Question {
  readonly ask: string
  readonly id: number
}

/** What it says. */
interface Answer {
  readonly answers: number
  readonly value: unknown
}

/** Asks worker processes, over the channel that they have to the first one. */
export interface Questions {
  /**
   * What each of them says, by its id; undefined: it has not in time, or cannot be asked.
   *
   * @param timeoutMs how long they may take.
   */
  readonly ask: <T>(
    workers: Iterable<Worker>,
    ask: string,
    timeoutMs: number,
  ) => Promise<Map<number, T | undefined>>
}

export function createQuestions(): Questions {
  let last = 0

  function askOne<T>(worker: Worker, ask: string, timeoutMs: number): Promise<T | undefined> {
    const id = ++last
    return new Promise((resolve) => {
      const end = (value: T | undefined): void => {
        clearTimeout(timer)
        worker.off('message', hear)
        worker.off('exit', leave)
        resolve(value)
      }
      const hear = (message: unknown): void => {
        if (isAnswer(message) && message.answers === id) end(message.value as T)
      }
      const leave = (): void => end(undefined)
      const timer = setTimeout(end, timeoutMs, undefined)
      worker.on('message', hear)
      worker.on('exit', leave)
      if (!worker.isConnected()) return end(undefined)
      worker.send({ ask, id } satisfies Question, (error) => {
        if (error !== null) end(undefined)
      })
    })
  }

  return {
    async ask<T>(workers: Iterable<Worker>, ask: string, timeoutMs: number) {
      const asked = Array.from(workers, async (worker): Promise<[number, T | undefined]> => {
        return [worker.id, await askOne<T>(worker, ask, timeoutMs)]
      })
      return new Map(await Promise.all(asked))
    },
  }
}

/** In a worker: answers what is asked, by name. What is never answered is asked in vain. */
export function answerQuestions(answers: Readonly<Record<string, () => unknown>>): void {
  process.on('message', async (message: unknown) => {
    if (!isQuestion(message) || !Object.hasOwn(answers, message.ask)) return
    const value = await answers[message.ask]!()
    // The first process may have ended by now.
    if (process.connected) process.send?.({ answers: message.id, value } satisfies Answer)
  })
}

function isQuestion(message: unknown): message is Question {
  return typeof message === 'object' && message !== null && 'ask' in message
}

function isAnswer(message: unknown): message is Answer {
  return typeof message === 'object' && message !== null && 'answers' in message
}
