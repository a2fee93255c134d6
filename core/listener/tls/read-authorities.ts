import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/**
 * Reads the certificates of authorities from a file as PEM text.
 *
 * @param label kind of file, for errors.
 * @throws {Error} with a one-line message that contains the file name, if it cannot be read or contains no certificate.
 */
export function readAuthorities(file: string, label: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${label} ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  const blocks = text.match(CERTIFICATE_BLOCK)
  if (blocks === null) throw new Error(`${label} ${file} contains no PEM certificate`)
  try {
    for (const block of blocks) new X509Certificate(block)
  } catch (error) {
    throw new Error(`${label} ${file} contains a malformed certificate`, { cause: error })
  }
  return blocks.join('\n')
}
