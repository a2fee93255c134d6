import type { Worker } from 'node:cluster'
import {
  type CertificateSource,
  createCertificateSource,
} from '../../core/listener/tls/certificates.ts'
import type { Certificate, TlsSource } from '../../core/listener/tls/tls.ts'

/** What a worker asks the primary for: all certificates, or one for a name. */
type Asked = { readonly tls: 'all' } | { readonly tls: 'name'; readonly serverName: string }

/** What the primary tells a worker that has asked, at first and after each change; certificates have numbers. */
interface Told {
  readonly tls: 'pairs'
  readonly isStrict: boolean
  /** Those it has not been told yet: there may be thousands. */
  readonly added: readonly (readonly [number, Certificate])[]
  /** All there are, in order. */
  readonly all: readonly number[]
}

/** The primary is done with a name; what came of it was told before. */
interface Done {
  readonly tls: 'done'
  readonly serverName: string
}

/** The primary has none to share: it was started without ACME. */
interface NoTls {
  readonly tls: 'none'
}

/** Has workers, each of which is to be given to the function returned, serve the certificates of the primary; undefined: it has none. */
export function shareTls(tls: TlsSource | undefined): (worker: Worker) => void {
  return tls === undefined ? refuseTls : sharePairs(tls)
}

function refuseTls(worker: Worker): void {
  worker.on('message', (asked: Asked | undefined) => {
    if (asked?.tls === 'all') send(worker, { tls: 'none' })
  })
}

function sharePairs(tls: TlsSource): (worker: Worker) => void {
  const numbers = new WeakMap<Certificate, number>()
  /** What each worker that has asked knows. */
  const known = new Map<Worker, ReadonlySet<number>>()
  let last = 0

  function toNumber(pair: Certificate): number {
    const number = numbers.get(pair) ?? ++last
    numbers.set(pair, number)
    return number
  }

  function tell(worker: Worker, pairs: readonly Certificate[]): void {
    const before = known.get(worker)
    const all = pairs.map(toNumber)
    const numbered = pairs.map((pair, i) => [all[i]!, pair] as const)
    const added = numbered.filter(([number]) => !before?.has(number))
    known.set(worker, new Set(all))
    send(worker, { tls: 'pairs', isStrict: tls.isStrict ?? false, added, all })
  }

  tls.onChange((pairs) => {
    for (const worker of known.keys()) tell(worker, pairs)
  })
  return (worker) => {
    worker.once('exit', () => known.delete(worker))
    worker.on('message', (asked: Asked | undefined) => {
      if (asked?.tls === 'all') tell(worker, tls.pairs)
      if (asked?.tls !== 'name') return
      const { serverName } = asked
      const requested = tls.request?.(serverName) ?? Promise.resolve()
      void requested.then(() => send(worker, { tls: 'done', serverName }))
    })
  }
}

function send(worker: Worker, told: Told | Done | NoTls): void {
  if (worker.isConnected()) worker.send(told)
}

/**
 * The certificates of the primary, in a worker.
 *
 * @throws {Error} with one line when it has none.
 */
export function receiveTls(): Promise<TlsSource> {
  const requests = new Map<string, () => void>()
  const known = new Map<number, Certificate>()
  const ask = (asked: Asked): boolean | undefined => process.send?.(asked)
  let tls: CertificateSource | undefined

  function request(serverName: string): Promise<void> {
    // Who else asks for the name meanwhile need not wait: the certificate is told to all.
    if (requests.has(serverName)) return Promise.resolve()
    ask({ tls: 'name', serverName })
    return new Promise((resolve) => requests.set(serverName, resolve))
  }

  function toPairs({ added, all }: Told): readonly Certificate[] {
    for (const [number, pair] of added) known.set(number, pair)
    const there = new Set(all)
    for (const number of known.keys()) if (!there.has(number)) known.delete(number)
    return all.map((number) => known.get(number)!)
  }

  return new Promise((resolve, reject) => {
    // From before the question on: the answer may have the next change right behind it.
    process.on('message', (told: Told | Done | NoTls | undefined) => {
      if (told?.tls === 'none')
        reject(
          new Error(
            'enable_acme was not set when the first process was started: restart it as a whole',
          ),
        )
      if (told?.tls === 'done') {
        requests.get(told.serverName)?.()
        requests.delete(told.serverName)
      }
      if (told?.tls !== 'pairs') return
      tls ??= createCertificateSource({ isStrict: told.isStrict, request })
      tls.use(toPairs(told))
      resolve(tls)
    })
    ask({ tls: 'all' })
  })
}
