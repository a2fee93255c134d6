import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** Exclusive lock of a folder for the lifetime of this process. */
export interface FolderLock {
  readonly release: () => Promise<void>
}

interface Paths {
  readonly of: (name: string) => string
  readonly close: () => void
}

const LOCK = /^lock\.(\d{1,15})$/
const PREPARED = /^lock-[0-9a-f-]+$/
/** Portable maximum length of socket paths. */
const PATH_MAX_BYTES = 100
/** Maximum number of attempts while other processes lock the folder at the same time. */
const ATTEMPTS = 50
const RETRY_MAX_MS = 20
const RESPONSE_TIMEOUT_MS = 500

/**
 * Locks a folder for this process.
 *
 * A lock is a Unix socket `lock.<n>` in the folder, on which its owner listens. The system closes
 * the socket when the process ends, and a reused process id is never mistaken for the owner. The
 * highest number is the current lock. A new lock is created atomically with `link` and is already
 * listening. If another process holds a lock by then, the new one is removed and the attempt is
 * repeated.
 *
 * @throws {Error} with a one-line message if another process holds the lock or the socket cannot be
 * created.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const paths = createPaths(folder)
  const prepared = `lock-${randomUUID()}`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(String(process.pid), () => socket.destroy())
  })
  const remove = (name: string): void => rmSync(join(folder, name), { force: true })

  /**
   * Acquires the lock. Returns undefined if another process is also acquiring it.
   *
   * @throws {Error} if the folder is locked
   */
  async function acquire(): Promise<string | undefined> {
    const existing = listLocks(folder)
    const highest = Math.max(0, ...existing)
    const owner = await findOwner(
      paths,
      existing.filter((number) => number === highest),
    )
    if (owner !== undefined)
      throw new Error(
        `${folder} is in use by ${describeOwner(owner)}: stop it, or set another folder with --data_dir or MX_DATA_DIR`,
      )
    const name = `lock.${highest + 1}`
    try {
      linkSync(join(folder, prepared), join(folder, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
      throw error
    }
    const others = listLocks(folder).filter((number) => number !== highest + 1)
    if (Math.max(0, ...others) > highest || (await findOwner(paths, others)) !== undefined) {
      remove(name)
      return undefined
    }
    for (const number of others) remove(`lock.${number}`)
    return name
  }

  /** Removes sockets prepared by processes that were killed. */
  async function removeStale(): Promise<void> {
    for (const name of readdirSync(folder))
      if (PREPARED.test(name) && (await queryOwner(paths.of(name))) === undefined) remove(name)
  }

  try {
    await listen(server, paths.of(prepared), folder)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const name = await acquire()
      if (name !== undefined) {
        remove(prepared)
        await removeStale()
        return {
          async release() {
            remove(name)
            await close(server)
          },
        }
      }
      await wait(Math.random() * RETRY_MAX_MS)
    }
    throw new Error(`cannot lock ${folder}: too many servers are starting`)
  } catch (error) {
    remove(prepared)
    await close(server)
    throw error
  } finally {
    paths.close()
  }
}

/**
 * Returns a description of the lock's owner, such as `another mx server (process 4711)`, or undefined if the folder is
 * not locked. Read-only.
 *
 * @throws {Error} if the folder cannot be read.
 */
export async function findLockOwner(folder: string): Promise<string | undefined> {
  const numbers = listLocks(folder)
  const paths = createPaths(folder)
  try {
    const owner = await findOwner(paths, numbers)
    return owner === undefined ? undefined : describeOwner(owner)
  } finally {
    paths.close()
  }
}

function describeOwner(owner: string): string {
  return `another mx server${owner === '' ? '' : ` (process ${owner})`}`
}

function listLocks(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => LOCK.exec(name)?.[1] ?? [])
    .map(Number)
}

/** Returns the process id of the first live lock, or undefined if no lock is live. */
async function findOwner(paths: Paths, numbers: readonly number[]): Promise<string | undefined> {
  for (const number of numbers) {
    const owner = await queryOwner(paths.of(`lock.${number}`))
    if (owner !== undefined) return owner
  }
  return undefined
}

function listen(server: Server, path: string, folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new Error(`cannot lock ${folder}: ${cause.message}`, { cause })),
    )
    server.listen(path, resolve)
    server.unref()
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}

/**
 * Returns the process id of a listening owner. Returns an empty string if it does not respond, and
 * undefined if no process is listening.
 */
function queryOwner(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(path)
    socket.setEncoding('utf8').setTimeout(RESPONSE_TIMEOUT_MS)
    socket.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 20)
    })
    socket.on('timeout', () => socket.destroy())
    socket.on('close', () => resolve(/^\d*$/.test(text) ? text : ''))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(undefined)
    })
  })
}

/** Returns socket paths. Paths that are too long are replaced with paths through the descriptor of the open folder. */
function createPaths(folder: string): Paths {
  const isLong = Buffer.byteLength(join(folder, `lock-${randomUUID()}`)) > PATH_MAX_BYTES
  if (!isLong) return { of: (name) => join(folder, name), close: () => {} }
  if (process.platform !== 'linux') throw new Error(`cannot lock ${folder}: the path is too long`)
  const descriptor = openSync(folder, 'r')
  return {
    of: (name) => `/proc/self/fd/${descriptor}/${name}`,
    close: () => closeSync(descriptor),
  }
}
