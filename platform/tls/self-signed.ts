import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDnsName } from '../../core/http/host-name.ts'
import { createCertificateSource } from '../../core/listener/tls/certificates.ts'
import { type Certificate, type TlsSource, toTlsPair } from '../../core/listener/tls/tls.ts'
import type { Log } from '../process/log.ts'
import { toFolderPath } from '../server/files/data-folder.ts'
import { readPrivateFile, writePrivateFile } from '../server/files/private-file.ts'

export interface SelfSignedOptions {
  /** Where it is kept, for its owner alone; may begin with `~/`; undefined: it is made at every start. */
  readonly folder: string | undefined
  readonly log: Log
  /** Unix time. @default Date.now */
  readonly nowMs?: () => number
}

const DAY_MS = 24 * 3600 * 1000
const LIFE_MS = 365 * DAY_MS
/** Before its end. */
const RENEWED_MS = 30 * DAY_MS
/** Clocks of clients may be behind. */
const BEFORE_MS = DAY_MS
const ADDRESSES: readonly string[] = ['127.0.0.1', '::1']

/**
 * A certificate for development: of this machine, signed by itself, for clients of this machine, made anew near its end.
 *
 * @throws {Error} with one line, when it cannot be kept.
 */
export async function openSelfSigned(options: SelfSignedOptions): Promise<TlsSource> {
  const { log, nowMs = Date.now } = options
  const folder = options.folder && toFolderPath(options.folder)
  const certFile = folder && join(folder, 'self_signed.crt')
  const keyFile = folder && join(folder, 'self_signed.key')
  const warn = (message: string): void => log.warn(message)
  const tls = createCertificateSource()

  async function read(): Promise<Certificate | undefined> {
    if (certFile === undefined || keyFile === undefined) return undefined
    const [cert, key] = await Promise.all([readPrivateFile(certFile), readPrivateFile(keyFile)])
    if (cert === undefined || key === undefined) return undefined
    try {
      const pair = toTlsPair({ cert, key }, { cert: certFile, key: keyFile }, () => {})
      const { validTo, subjectAltName = '' } = new X509Certificate(cert)
      const isFresh = Date.parse(validTo) - nowMs() > RENEWED_MS
      const isOfAll = listNames().every((name) => subjectAltName.includes(`DNS:${name}`))
      return isFresh && isOfAll ? pair : undefined
    } catch {
      // Damaged, or one of two was written: both are made anew.
      return undefined
    }
  }

  async function make(): Promise<Certificate> {
    const { cert, key } = await createSelfSigned(listNames(), nowMs())
    if (folder !== undefined && certFile !== undefined && keyFile !== undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writePrivateFile(keyFile, key)
      await writePrivateFile(certFile, cert)
      log.info(
        `a self-signed certificate was made; to trust it: curl --cacert ${certFile}, NODE_EXTRA_CA_CERTS=${certFile}, or add it to the authorities of the browser`,
      )
    } else log.info('a self-signed certificate was made, for this run alone')
    return toTlsPair({ cert, key }, { cert: 'self-signed', key: 'self-signed' }, warn)
  }

  async function use(): Promise<void> {
    const pair = (await read()) ?? (await make())
    if (pair.cert !== tls.pairs[0]?.cert) tls.use([pair])
  }

  await use()
  // One for this run alone would be another each time.
  const daily = (): void => {
    const { validTo } = new X509Certificate(tls.pairs[0]!.cert)
    if (Date.parse(validTo) - nowMs() > RENEWED_MS) return
    use().catch((error: Error) => log.warn(error.message))
  }
  const timer = setInterval(daily, DAY_MS).unref()
  return {
    ...tls,
    get pairs() {
      return tls.pairs
    },
    reload: daily,
    close: () => clearInterval(timer),
  }
}

function listNames(): readonly string[] {
  const own = hostname().toLowerCase()
  return isDnsName(own) && own !== 'localhost' ? ['localhost', own] : ['localhost']
}

/** With the library: Node.js assembles no certificates. */
async function createSelfSigned(
  names: readonly string[],
  nowMs: number,
): Promise<{ readonly cert: string; readonly key: string }> {
  const { default: forge } = await import('node-forge')
  const { md, pki } = forge
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const certificate = pki.createCertificate()
  certificate.publicKey = pki.publicKeyFromPem(publicKey)
  // RFC 5280 §4.1.2.2: positive, and not longer than 20 bytes.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`
  certificate.validity.notBefore = new Date(nowMs - BEFORE_MS)
  certificate.validity.notAfter = new Date(nowMs + LIFE_MS)
  const subject = [{ name: 'commonName', value: 'mx self-signed' }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  certificate.setExtensions([
    // Whoever trusts it trusts no other.
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    {
      name: 'subjectAltName',
      altNames: [
        ...names.map((value) => ({ type: 2, value })),
        ...ADDRESSES.map((ip) => ({ type: 7, ip })),
      ],
    },
  ])
  certificate.sign(pki.privateKeyFromPem(key), md.sha256.create())
  return { cert: pki.certificateToPem(certificate), key }
}
