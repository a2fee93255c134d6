import { randomBytes, randomUUID } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isServerId } from '../../domain/mesh/names.ts'

const FILE = 'server_id'
/** Of the host's name: the rest tells servers of one host apart. */
const MAX_HOST = 80

/** An id for a server that keeps nothing: `<host>-<8 hexadecimal digits>`. */
export function makeServerId(host: string = hostname()): string {
  const name = host.slice(0, MAX_HOST).replace(/[^A-Za-z0-9._-]/g, '-')
  const id = `${name}-${randomBytes(4).toString('hex')}`
  return isServerId(id) ? id : id.slice(name.length + 1)
}

/**
 * The id of the server whose data folder this is: made for the first start, and the same from then on.
 *
 * @param folder there is one, and it is this server's alone.
 * @throws {Error} in one line, when it cannot be kept or read, or the file holds no id.
 */
export async function readServerId(folder: string): Promise<string> {
  const file = join(folder, FILE)
  const draft = `${file}.${randomUUID()}`
  try {
    const known = await readFile(file, 'utf8').catch(onMissing)
    if (known !== undefined) return check(known.trim(), file)
    const id = makeServerId()
    // Whatever ends when: the file holds an id or is not there.
    await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true, flag: 'wx' })
    await link(draft, file)
    return id
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new Error(`the id of this server cannot be kept in ${file}: ${message}`, { cause: error })
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
  const shown = JSON.stringify(id.slice(0, 100))
  throw new Error(
    `${file} must hold the id of this server, 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${shown}; without it a new one is made`,
  )
}
