import type { Worker } from 'node:cluster'
import type { Certificate } from '../../core/listener/tls/tls.ts'

/**
 * Last valid file contents of a worker, used by its replacement if the files are invalid by then.
 */
export interface LastGood {
  /** Contents of the configuration file; empty if there is no file. */
  readonly config: string
  /** Certificates loaded from files. */
  readonly pairs: readonly Certificate[]
  /** Client CA in PEM format; empty if not configured. */
  readonly clientCa: string
}

/** Message from a worker: its configuration, or a request for the last valid one. */
type WorkerMessage =
  | { readonly lastGood: 'ask' }
  | { readonly lastGood: 'tell'; readonly value: LastGood }

/** Response from the primary. */
interface PrimaryMessage {
  readonly lastGood: 'told'
  readonly value?: LastGood | undefined
}

/** In the primary: returns a function that stores the last valid configuration of a worker. */
export function storeLastGood(): (worker: Worker) => void {
  let stored: LastGood | undefined
  let newest = 0
  return (worker) =>
    worker.on('message', (message: WorkerMessage | undefined) => {
      if (message?.lastGood === 'ask' && worker.isConnected())
        worker.send({ lastGood: 'told', value: stored } satisfies PrimaryMessage)
      // A worker that is being replaced may have an older configuration.
      if (message?.lastGood !== 'tell' || worker.id < newest) return
      newest = worker.id
      stored = message.value
    })
}

/**
 * In a worker: requests the last valid configuration. Returns undefined if no configuration was
 * valid.
 */
export function requestLastGood(): Promise<LastGood | undefined> {
  return new Promise((resolve) => {
    const onMessage = (message: PrimaryMessage | undefined): void => {
      if (message?.lastGood !== 'told') return
      process.off('message', onMessage)
      resolve(message.value)
    }
    process.on('message', onMessage)
    send({ lastGood: 'ask' })
  })
}

/** In a worker: reports its current configuration. */
export function publishLastGood(value: LastGood): void {
  send({ lastGood: 'tell', value })
}

function send(message: WorkerMessage): void {
  if (process.connected) process.send?.(message)
}
