import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isDnsName } from '../../core/http/host/host-name.ts'
import { createCertificateSource } from '../../core/listener/tls/certificates.ts'
import { type Certificate, type TlsSource, toTlsPair } from '../../core/listener/tls/tls.ts'
import type { Log } from '../process/log.ts'
import { toFolderPath } from '../server/files/data-folder.ts'
import { readPrivateFile, writePrivateFile } from '../server/files/private-file.ts'

export interface SelfSignedOptions {
  /**
   * Folder of the files, which are readable only by their owner. The path may start with `~/`. If
   * undefined, a certificate is generated on every start.
   */
  readonly folder: string | undefined
  readonly log: Log
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

const DAY_MS = 24 * 3600 * 1000
const LIFE_MS = 365 * DAY_MS
/** Time before the expiry at which the certificate is renewed. */
const RENEW_BEFORE_MS = 30 * DAY_MS
/** Backdates the certificate for clients with a slow clock. */
const BACKDATE_MS = DAY_MS
const ADDRESSES: readonly string[] = ['127.0.0.1', '::1']

/**
 * Opens a self-signed development certificate for clients on this machine, which is renewed before
 * it expires.
 *
 * @throws {Error} with a one-line message if it cannot be stored.
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
      const isFresh = Date.parse(validTo) - nowMs() > RENEW_BEFORE_MS
      const hasAllNames = listNames().every((name) => subjectAltName.includes(`DNS:${name}`))
      return isFresh && hasAllNames ? pair : undefined
    } catch {
      // Damaged or incomplete files are replaced.
      return undefined
    }
  }

  async function create(): Promise<Certificate> {
    const { cert, key } = await createSelfSigned(listNames(), nowMs())
    if (folder !== undefined && certFile !== undefined && keyFile !== undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writePrivateFile(keyFile, key)
      await writePrivateFile(certFile, cert)
      log.info(
        `self-signed certificate created; to trust it: curl --cacert ${certFile}, NODE_EXTRA_CA_CERTS=${certFile}, or import it in the browser`,
      )
    } else log.info('temporary self-signed certificate created')
    return toTlsPair({ cert, key }, { cert: 'self-signed', key: 'self-signed' }, warn)
  }

  async function use(): Promise<void> {
    const pair = (await read()) ?? (await create())
    if (pair.cert !== tls.pairs[0]?.cert) tls.use([pair])
  }

  await use()
  // Without files, use() would create a new certificate each time.
  const daily = (): void => {
    const { validTo } = new X509Certificate(tls.pairs[0]!.cert)
    if (Date.parse(validTo) - nowMs() > RENEW_BEFORE_MS) return
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
  const name = hostname().toLowerCase()
  return isDnsName(name) && name !== 'localhost' ? ['localhost', name] : ['localhost']
}

/** Uses node-forge, because Node.js cannot create certificates. */
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
  certificate.validity.notBefore = new Date(nowMs - BACKDATE_MS)
  certificate.validity.notAfter = new Date(nowMs + LIFE_MS)
  const subject = [{ name: 'commonName', value: 'mx self-signed' }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  certificate.setExtensions([
    // Not a CA, so trusting it does not extend to other certificates.
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
