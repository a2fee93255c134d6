import type { Worker } from 'node:cluster'
import type { Certificate } from '../../core/listener/tls/tls.ts'

/** What a worker has read from files and serves by: for one that is started in its place while what they hold by then is refused. */
export interface LastGood {
  /** Text of the configuration file; empty: there is none. */
  readonly config: string
  /** Those of certificate files. */
  readonly pairs: readonly Certificate[]
  /** PEM text of who issues the certificates of clients; empty: nobody does. */
  readonly clientCa: string
}

/** What a worker says to the primary: what it serves by, or that it wants to know what others do. */
type Said = { readonly lastGood: 'ask' } | { readonly lastGood: 'tell'; readonly value: LastGood }

/** What the primary answers. */
interface Told {
  readonly lastGood: 'told'
  readonly value?: LastGood | undefined
}

/** In the primary: remembers what its workers serve by, each of which is to be given to the function returned. */
export function storeLastGood(): (worker: Worker) => void {
  let kept: LastGood | undefined
  let newest = 0
  return (worker) =>
    worker.on('message', (said: Said | undefined) => {
      if (said?.lastGood === 'ask' && worker.isConnected())
        worker.send({ lastGood: 'told', value: kept } satisfies Told)
      // One that is being replaced may be settled otherwise.
      if (said?.lastGood !== 'tell' || worker.id < newest) return
      newest = worker.id
      kept = said.value
    })
}

/** In a worker: what others served by; undefined: none has said. */
export function requestLastGood(): Promise<LastGood | undefined> {
  return new Promise((resolve) => {
    const onMessage = (told: Told | undefined): void => {
      if (told?.lastGood !== 'told') return
      process.off('message', onMessage)
      resolve(told.value)
    }
    process.on('message', onMessage)
    say({ lastGood: 'ask' })
  })
}

/** In a worker: what it serves by from now on. */
export function publishLastGood(value: LastGood): void {
  say({ lastGood: 'tell', value })
}

function say(said: Said): void {
  if (process.connected) process.send?.(said)
}
