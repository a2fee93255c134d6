import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

const CERTIFICATE_BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/**
 * The certificates of authorities in a file, PEM text.
 *
 * @param what the file is, as errors call it.
 * @throws {Error} with one line that names the file: it cannot be read, or holds no certificate.
 */
export function readAuthorities(file: string, what: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${what} ${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  const blocks = text.match(CERTIFICATE_BLOCK)
  if (blocks === null) throw new Error(`${what} ${file} holds no certificate in PEM form`)
  try {
    for (const block of blocks) new X509Certificate(block)
  } catch (error) {
    throw new Error(`${what} ${file} holds a damaged certificate`, { cause: error })
  }
  return blocks.join('\n')
}
