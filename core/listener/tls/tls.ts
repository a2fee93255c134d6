import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type FSWatcher, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { createChangedCheck } from '../../../lib/io/file-fingerprint.ts'

/** PEM files of a server certificate: the certificate with its chain, and its private key. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** A validated server certificate. */
export interface Certificate {
  /** PEM text: the certificate first, then its chain. */
  readonly cert: string
  /** PEM text of the private key. */
  readonly key: string
  /**
   * DNS names of the certificate in lower case; `*.` matches one label. The common name if subjectAltName contains
   * none.
   */
  readonly names: readonly string[]
}

/** Certificates of a listener, which can be replaced while it is running. */
export interface TlsSource {
  /**
   * The first certificate is the default for clients that send no name or an unknown one; the others are selected by
   * SNI (RFC 6066 §3). Handshakes fail without any certificate. Unchanged pairs are the same objects.
   */
  readonly pairs: readonly Certificate[]
  /** Whether there is no default, so that handshakes for unknown names fail. @default false */
  readonly isStrict?: boolean
  /**
   * Requests a certificate for a name that has none. Resolves when it was issued or will not be issued soon. Never
   * rejects; listeners need not wait.
   */
  readonly request?: (serverName: string) => Promise<void>
  /**
   * Reloads all files for new connections.
   *
   * @throws {Error} like {@link loadTls}, before any change; or the error of a listener that cannot use the
   * certificates. In this case `pairs` does not change, and the next reload notifies all listeners again.
   */
  readonly reload: () => void
  /** Calls `listener` after every reload that changed a certificate. Returns a function that unsubscribes it. */
  readonly onChange: (listener: (pairs: readonly Certificate[]) => void) => () => void
  /** Reloads whenever a file is changed or replaced. Changes that cannot be loaded are reported as warnings. */
  readonly watch: () => void
  /** Stops {@link watch} and releases other resources. */
  readonly close: () => Maybe<void>
}

export interface TlsOptions {
  /**
   * Called with a one-line message for problems that do not prevent serving, such as an expired certificate or a
   * changed file that cannot be loaded. @default process.emitWarning
   */
  readonly warn?: (message: string) => void
  /**
   * Debounce of {@link TlsSource.watch} in milliseconds, since certificate and key are not replaced simultaneously.
   * @default 200
   */
  readonly settleMs?: number
  /** Certificates to serve if the files cannot be loaded initially. @default none */
  readonly last?: readonly Certificate[] | undefined
}

/** TLS 1.2 suites with forward secrecy and authenticated encryption (RFC 9325 §4.2), which all TLS 1.3 suites have. */
export const TLS_CIPHERS: string = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g
/** Some editors write it; TLS libraries find no certificate after it. */
const BYTE_ORDER_MARK = /^\uFEFF/
const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const DNS_NAME = /^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/

/**
 * Loads and validates certificates, so that a listener never opens with an unusable certificate.
 *
 * @throws {Error} with a one-line message that contains the file name, if it cannot be read, contains no certificate or
 *   key, or the key does not match the certificate.
 */
export function loadTls(files: readonly TlsFiles[], options: TlsOptions = {}): TlsSource {
  if (files.length === 0)
    throw new Error('TLS requires at least one certificate file and its key file')
  const { settleMs = 200, last = [] } = options
  const { warn = (message: string) => process.emitWarning(message) } = options
  const listeners = new Set<(pairs: readonly Certificate[]) => void>()
  const watchers: FSWatcher[] = []
  let pairs = last
  let timer: NodeJS.Timeout | undefined

  const load = (): readonly Certificate[] =>
    files.map((pair, i) => reuseUnchanged(pairs[i], loadPair(pair, warn)))

  const warnOf = (error: unknown): void =>
    warn(`${(error as Error).message}; the previous certificates stay in use`)

  const reload = (): void => {
    const fresh = load()
    if (fresh.every((pair, i) => pair === pairs[i])) return
    // After an error of a listener, the pairs still count as changed, so that the next reload tries again.
    for (const listener of listeners) listener(fresh)
    pairs = fresh
  }

  const settle = (): void => {
    try {
      reload()
    } catch (error) {
      warnOf(error)
    }
  }

  try {
    pairs = load()
  } catch (error) {
    if (last.length === 0) throw error
    warnOf(error)
  }

  const names = files.flatMap(({ certFile, keyFile }) => [certFile, keyFile])
  const haveChanged = createChangedCheck()
  const onEvent = (): void => {
    if (!haveChanged(names)) return
    clearTimeout(timer)
    timer = setTimeout(settle, settleMs).unref()
  }

  const close = (): void => {
    clearTimeout(timer)
    for (const watcher of watchers.splice(0)) watcher.close()
  }

  return {
    get pairs() {
      return pairs
    },
    reload,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    watch() {
      close()
      // Watches the folders, because the watch of a file ends when a rename replaces the file, or a symbolic link to it
      // is switched.
      const folders = new Set(names.map((name) => dirname(name)))
      for (const folder of folders) {
        try {
          const watcher = watch(folder, { persistent: false }, onEvent)
          watcher.on('error', (error) =>
            warn(`TLS folder ${folder} is no longer watched: ${error.message}`),
          )
          watchers.push(watcher)
        } catch (error) {
          warn(`TLS folder ${folder} cannot be watched: ${(error as Error).message}`)
        }
      }
    },
    close,
  }
}

/**
 * Writes a pair to temporary private files for a TLS library that reads files by name. They are deleted when `use`
 * returns.
 */
export function withTlsFiles<T>(pair: Certificate, use: (files: TlsFiles) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'mx-tls-'))
  try {
    const certFile = join(folder, 'cert.pem')
    const keyFile = join(folder, 'key.pem')
    writeFileSync(certFile, pair.cert, { mode: 0o600, flag: 'wx' })
    writeFileSync(keyFile, pair.key, { mode: 0o600, flag: 'wx' })
    return use({ certFile, keyFile })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Indexes pairs by name; the first pair for a name wins. */
export function indexTlsPairs(pairs: readonly Certificate[]): ReadonlyMap<string, Certificate> {
  const index = new Map<string, Certificate>()
  for (const pair of pairs)
    for (const name of pair.names) if (!index.has(name)) index.set(name, pair)
  return index
}

/** Finds the pair for the server name of a handshake: by the exact name, else by a wildcard for its first label. */
export function findTlsPair(
  index: ReadonlyMap<string, Certificate>,
  serverName: string,
): Certificate | undefined {
  const name = serverName.toLowerCase().replace(/\.$/, '')
  const dot = name.indexOf('.')
  return index.get(name) ?? (dot < 0 ? undefined : index.get(`*${name.slice(dot)}`))
}

/**
 * Validates the PEM texts of a certificate and its key. An invalid validity period only causes a warning.
 *
 * @param source file names or other origins of the texts, for errors.
 * @param nowMs Unix time in milliseconds. @default clock of this machine
 * @throws {Error} with a one-line message.
 */
export function toTlsPair(
  { cert, key }: Pick<Certificate, 'cert' | 'key'>,
  source: { readonly cert: string; readonly key: string },
  warn: (message: string) => void,
  nowMs: number = Date.now(),
): Certificate {
  const chain = parseCertificates(cert, source.cert)
  const leaf = chain[0]!
  const privateKey = parseKey(key, source.key)
  if (!leaf.checkPrivateKey(privateKey)) {
    const isLater = chain.some((certificate) => certificate.checkPrivateKey(privateKey))
    throw new Error(
      isLater
        ? `TLS certificate ${source.cert} must be the first in its file, before its chain`
        : `TLS key ${source.key} does not belong to certificate ${source.cert}`,
    )
  }
  if (!isServable(privateKey))
    throw new Error(
      `TLS key ${source.key} must be RSA with at least 1024 bits, ECDSA with P-256, P-384 or P-521, or Ed25519`,
    )
  if (Date.parse(leaf.validTo) < nowMs)
    warn(`TLS certificate ${source.cert} expired on ${leaf.validTo}`)
  if (Date.parse(leaf.validFrom) > nowMs)
    warn(
      `TLS certificate ${source.cert} is not valid before ${leaf.validFrom}; check the clock of this machine`,
    )
  return { cert, key, names: toNames(leaf) }
}

function loadPair({ certFile, keyFile }: TlsFiles, warn: (message: string) => void): Certificate {
  const cert = readText(certFile, 'certificate')
  const key = readText(keyFile, 'key')
  return toTlsPair({ cert, key }, { cert: certFile, key: keyFile }, warn)
}

function reuseUnchanged(before: Certificate | undefined, pair: Certificate): Certificate {
  return pair.cert === before?.cert && pair.key === before.key ? before : pair
}

function readText(file: string, title: string): string {
  try {
    return readFileSync(file, 'utf8').replace(BYTE_ORDER_MARK, '')
  } catch (error) {
    throw new Error(`TLS ${title} file ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function parseCertificates(text: string, file: string): X509Certificate[] {
  const blocks = text.match(CERTIFICATE_BLOCK)
  if (blocks === null) throw new Error(`TLS certificate file ${file} contains no PEM certificate`)
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch (error) {
    throw new Error(`TLS certificate file ${file} contains a malformed certificate`, {
      cause: error,
    })
  }
}

function parseKey(text: string, file: string): KeyObject {
  try {
    return createPrivateKey(text)
  } catch (error) {
    const encrypted = text.includes('ENCRYPTED')
    const reason = encrypted
      ? 'contains an encrypted key; decrypt it first'
      : 'contains no private key in PEM form'
    throw new Error(`TLS key file ${file} ${reason}`, { cause: error })
  }
}

/** Whether the TLS libraries of both listeners support the key and have a matching cipher. */
function isServable({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails ?? {}
  if (asymmetricKeyType === 'rsa') return modulusLength >= 1024
  return asymmetricKeyType === 'ed25519' || CURVES.has(namedCurve)
}

function toNames(leaf: X509Certificate): string[] {
  const alternative = (leaf.subjectAltName ?? '').split(', ').flatMap((entry) => {
    return entry.startsWith('DNS:') ? [entry.slice(4).toLowerCase()] : []
  })
  const common = /^CN=(.+)$/m.exec(leaf.subject)?.[1]?.toLowerCase()
  const names = alternative.length > 0 || common === undefined ? alternative : [common]
  return names.filter((name) => DNS_NAME.test(name))
}
