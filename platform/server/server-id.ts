import { randomBytes, randomUUID } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isServerId } from '../../domain/mesh/names.ts'

const FILE = 'server_id'
/** Maximum number of characters of the host name in an id. */
const MAX_HOST = 80

/** Generates a server id of the form `<host>-<8 hexadecimal digits>`. */
export function createServerId(host: string = hostname()): string {
  const name = host.slice(0, MAX_HOST).replace(/[^A-Za-z0-9._-]/g, '-')
  const id = `${name}-${randomBytes(4).toString('hex')}`
  return isServerId(id) ? id : id.slice(name.length + 1)
}

/**
 * Reads the server id from a data folder, or creates it on the first start.
 *
 * @param folder existing folder, locked by this server.
 * @throws {Error} with a one-line message if the id cannot be stored or read, or is invalid.
 */
export async function readServerId(folder: string): Promise<string> {
  const file = join(folder, FILE)
  const draft = `${file}.${randomUUID()}`
  try {
    const existing = await readFile(file, 'utf8').catch(onMissing)
    if (existing !== undefined) return check(existing.trim(), file)
    const id = createServerId()
    // Atomic, so that the file either contains an id or does not exist.
    await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true, flag: 'wx' })
    await link(draft, file)
    return id
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new Error(`cannot store the server id in ${file}: ${message}`, { cause: error })
  } finally {
    await unlink(draft).catch(() => {})
  }
}

function onMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
  return undefined
}

function check(id: string, file: string): string {
  if (isServerId(id)) return id
  const quoted = JSON.stringify(id.slice(0, 100))
  throw new Error(
    `${file} must contain the server id, 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${quoted}; remove it to create a new id`,
  )
}
