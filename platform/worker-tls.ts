import type { Worker } from 'node:cluster'
import { once } from 'node:events'
import type { TlsPair, TlsSource } from '../core/listener/tls.ts'
import { createTlsPairs } from '../core/listener/tls-pairs.ts'

/** What a worker asks the primary for: all certificates, or one for a name. */
type Asked = { readonly tls: 'all' } | { readonly tls: 'name'; readonly serverName: string }

/** What the primary tells its workers, at first and after each change; `requested`: it is done with one of a name. */
interface Told {
  readonly tls: 'pairs'
  readonly pairs: readonly TlsPair[]
  readonly isStrict: boolean
  readonly requested?: string
}

/** Has workers, each of which is to be given to the function returned, serve the certificates of the primary. */
export function shareTls(tls: TlsSource): (worker: Worker) => void {
  const workers = new Set<Worker>()
  const tell = (worker: Worker, pairs: readonly TlsPair[], requested?: string): void => {
    const told = { tls: 'pairs', pairs, isStrict: tls.isStrict ?? false } as const
    if (worker.isConnected())
      worker.send({ ...told, ...(requested !== undefined && { requested }) })
  }
  tls.onChange((pairs) => {
    for (const worker of workers) tell(worker, pairs)
  })
  return (worker) => {
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
    worker.on('message', (asked: Asked | undefined) => {
      if (asked?.tls === 'all') tell(worker, tls.pairs)
      if (asked?.tls !== 'name') return
      const { serverName } = asked
      void tls.request?.(serverName).then(() => tell(worker, tls.pairs, serverName))
    })
  }
}

/** The certificates of the primary, in a worker. */
export async function receiveTls(): Promise<TlsSource> {
  const requests = new Map<string, () => void>()
  const ask = (asked: Asked): boolean | undefined => process.send?.(asked)
  ask({ tls: 'all' })
  let first: Told | undefined
  while (first?.tls !== 'pairs') [first] = (await once(process, 'message')) as [Told | undefined]
  const tls = createTlsPairs({
    isStrict: first.isStrict,
    request(serverName) {
      // Who else asks for the name meanwhile need not wait: the certificate is told to all.
      if (requests.has(serverName)) return Promise.resolve()
      ask({ tls: 'name', serverName })
      return new Promise((resolve) => requests.set(serverName, resolve))
    },
  })
  tls.use(first.pairs)
  process.on('message', (told: Told | undefined) => {
    if (told?.tls !== 'pairs') return
    const before = new Map(tls.pairs.map((pair) => [pair.cert, pair]))
    const pairs = told.pairs.map((pair) => before.get(pair.cert) ?? pair)
    const isSame = pairs.length === before.size && pairs.every((pair, i) => pair === tls.pairs[i])
    if (!isSame) tls.use(pairs)
    if (told.requested === undefined) return
    requests.get(told.requested)?.()
    requests.delete(told.requested)
  })
  return tls
}
