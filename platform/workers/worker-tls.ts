import type { Worker } from 'node:cluster'
import {
  type CertificateSource,
  createCertificateSource,
} from '../../core/listener/tls/certificates.ts'
import type { Certificate, TlsSource } from '../../core/listener/tls/tls.ts'

/** Request from a worker: all certificates, or the certificate for a name. */
type TlsRequest = { readonly tls: 'all' } | { readonly tls: 'name'; readonly serverName: string }

/**
 * Message from the primary to a subscribed worker, sent initially and after each change.
 * Certificates are numbered.
 */
interface TlsUpdate {
  readonly tls: 'pairs'
  readonly isStrict: boolean
  /**
   * Certificates that the worker does not have yet. There may be thousands of certificates in
   * total.
   */
  readonly added: readonly (readonly [number, Certificate])[]
  /** Numbers of all certificates in order. */
  readonly all: readonly number[]
}

/**
 * The primary has handled a {@link TlsRequest} for a name. A new certificate was sent before this message.
 */
interface Done {
  readonly tls: 'done'
  readonly serverName: string
}

/** The primary was started without ACME. */
interface NoTls {
  readonly tls: 'none'
}

/** Returns a function that shares the primary's certificates with a worker. */
export function shareTls(tls: TlsSource | undefined): (worker: Worker) => void {
  return tls === undefined ? rejectRequests : sharePairs(tls)
}

function rejectRequests(worker: Worker): void {
  worker.on('message', (message: TlsRequest | undefined) => {
    if (message?.tls === 'all') send(worker, { tls: 'none' })
  })
}

function sharePairs(tls: TlsSource): (worker: Worker) => void {
  const numbers = new WeakMap<Certificate, number>()
  /** Numbers of the certificates that each subscribed worker has. */
  const sentNumbers = new Map<Worker, ReadonlySet<number>>()
  let last = 0

  function toNumber(pair: Certificate): number {
    const number = numbers.get(pair) ?? ++last
    numbers.set(pair, number)
    return number
  }

  function update(worker: Worker, pairs: readonly Certificate[]): void {
    const sentToWorker = sentNumbers.get(worker)
    const all = pairs.map(toNumber)
    const numbered = pairs.map((pair, i) => [all[i]!, pair] as const)
    const added = numbered.filter(([number]) => !sentToWorker?.has(number))
    sentNumbers.set(worker, new Set(all))
    send(worker, { tls: 'pairs', isStrict: tls.isStrict ?? false, added, all })
  }

  tls.onChange((pairs) => {
    for (const worker of sentNumbers.keys()) update(worker, pairs)
  })
  return (worker) => {
    worker.once('exit', () => sentNumbers.delete(worker))
    worker.on('message', (message: TlsRequest | undefined) => {
      if (message?.tls === 'all') update(worker, tls.pairs)
      if (message?.tls !== 'name') return
      const { serverName } = message
      const requested = tls.request?.(serverName) ?? Promise.resolve()
      void requested.then(() => send(worker, { tls: 'done', serverName }))
    })
  }
}

function send(worker: Worker, message: TlsUpdate | Done | NoTls): void {
  if (worker.isConnected()) worker.send(message)
}

/**
 * In a worker: receives certificates from the primary.
 *
 * @throws {Error} with a one-line message if the primary has none.
 */
export function receiveTls(): Promise<TlsSource> {
  const requests = new Map<string, () => void>()
  const certificates = new Map<number, Certificate>()
  const sendRequest = (request: TlsRequest): boolean | undefined => process.send?.(request)
  let tls: CertificateSource | undefined

  function request(serverName: string): Promise<void> {
    // Concurrent requests for the same name need not wait, because the certificate is sent to all
    // workers.
    if (requests.has(serverName)) return Promise.resolve()
    sendRequest({ tls: 'name', serverName })
    return new Promise((resolve) => requests.set(serverName, resolve))
  }

  function toPairs({ added, all }: TlsUpdate): readonly Certificate[] {
    for (const [number, pair] of added) certificates.set(number, pair)
    const current = new Set(all)
    for (const number of certificates.keys()) if (!current.has(number)) certificates.delete(number)
    return all.map((number) => certificates.get(number)!)
  }

  return new Promise((resolve, reject) => {
    // Subscribes before sending the request, because an update may follow the response immediately.
    process.on('message', (message: TlsUpdate | Done | NoTls | undefined) => {
      if (message?.tls === 'none')
        reject(
          new Error(
            'enable_acme was not set when the primary process started; restart the gateway',
          ),
        )
      if (message?.tls === 'done') {
        requests.get(message.serverName)?.()
        requests.delete(message.serverName)
      }
      if (message?.tls !== 'pairs') return
      tls ??= createCertificateSource({ isStrict: message.isStrict, request })
      tls.use(toPairs(message))
      resolve(tls)
    })
    sendRequest({ tls: 'all' })
  })
}
