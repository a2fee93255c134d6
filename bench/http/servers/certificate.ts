import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCertificate } from '../../../test/fixtures/certificates.ts'

/** Creates a self-signed certificate for 127.0.0.1 and its key in `folder`. */
export function writeCertificate(folder: string): { certFile: string; keyFile: string } {
  const { cert, key } = createCertificate(['localhost', '127.0.0.1'])
  const certFile = join(folder, 'cert.pem')
  const keyFile = join(folder, 'key.pem')
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key, { mode: 0o600 })
  return { certFile, keyFile }
}
