import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type { PostgresAddress } from './url.ts'

/**
 * Returns the node:tls options for the `sslmode`, or false to disable TLS.
 *
 * @throws {Error} if a file cannot be read.
 */
export function toTls({
  sslmode,
  caFile,
  certFile,
  keyFile,
}: PostgresAddress): ConnectionOptions | false {
  if (sslmode === 'disable') return false
  return {
    rejectUnauthorized: sslmode !== 'require',
    ...(sslmode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(caFile !== undefined && { ca: readPem('sslrootcert', caFile) }),
    ...(certFile !== undefined && { cert: readPem('sslcert', certFile) }),
    ...(keyFile !== undefined && { key: readPem('sslkey', keyFile) }),
  }
}

function readPem(parameter: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(`cannot read the ${parameter} for PostgreSQL: ${(cause as Error).message}`, {
      cause,
    })
  }
}
