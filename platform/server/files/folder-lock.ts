import { randomUUID } from 'node:crypto'
import { closeSync, linkSync, openSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A folder nobody else uses as long as this process lives. */
export interface FolderLock {
  /** Lets others have the folder. */
  readonly release: () => Promise<void>
}

interface Paths {
  readonly of: (name: string) => string
  readonly close: () => void
}

const LOCK = /^lock\.(\d{1,15})$/
const PREPARED = /^lock-[0-9a-f-]+$/
/** What a path of a socket may be long: that of most systems, less than any. */
const PATH_MAX_BYTES = 100
/** How often starters that meet step back for one another. */
const ATTEMPTS = 50
const STEP_BACK_MS = 20
const ANSWER_MS = 500

/**
 * Locks a folder for this process.
 *
 * A lock is a socket in the folder, `lock.<n>`, on which its holder listens: the system closes it with the process, however
 * that ends, and no number of a process is mistaken for another's. The highest is the one that counts. A new one
 * appears with `link`, listening already and once only; whoever made one looks then whether another is held, and steps back.
 *
 * @throws {Error} with one line when another process has it, or a socket cannot be made there.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const paths = createPaths(folder)
  const prepared = `lock-${randomUUID()}`
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(String(process.pid), () => socket.destroy())
  })
  const remove = (name: string): void => rmSync(join(folder, name), { force: true })

  /** The lock that is this process's; undefined: others are at it. @throws {Error} */
  async function take(): Promise<string | undefined> {
    const before = listLocks(folder)
    const highest = Math.max(0, ...before)
    const holder = await findHolder(
      paths,
      before.filter((number) => number === highest),
    )
    if (holder !== undefined)
      throw new Error(
        `${folder} is in use by ${nameHolder(holder)}: stop it, or name another folder with --data_dir or MX_DATA_DIR`,
      )
    const name = `lock.${highest + 1}`
    try {
      linkSync(join(folder, prepared), join(folder, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined
      throw error
    }
    const others = listLocks(folder).filter((number) => number !== highest + 1)
    if (Math.max(0, ...others) > highest || (await findHolder(paths, others)) !== undefined) {
      remove(name)
      return undefined
    }
    for (const number of others) remove(`lock.${number}`)
    return name
  }

  /** What those left behind that were killed as they began. */
  async function tidy(): Promise<void> {
    for (const name of readdirSync(folder))
      if (PREPARED.test(name) && (await ask(paths.of(name))) === undefined) remove(name)
  }

  try {
    await listen(server, paths.of(prepared), folder)
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const name = await take()
      if (name !== undefined) {
        remove(prepared)
        await tidy()
        return {
          async release() {
            remove(name)
            await close(server)
          },
        }
      }
      await wait(Math.random() * STEP_BACK_MS)
    }
    throw new Error(`${folder} cannot be locked: too many servers start in it at once`)
  } catch (error) {
    remove(prepared)
    await close(server)
    throw error
  } finally {
    paths.close()
  }
}

/**
 * Who has a folder: `another mx server (process 4711)`; undefined: nobody. Nothing in it is touched.
 *
 * @throws {Error} when it cannot be read.
 */
export async function findLockOwner(folder: string): Promise<string | undefined> {
  const numbers = listLocks(folder)
  const paths = createPaths(folder)
  try {
    const holder = await findHolder(paths, numbers)
    return holder === undefined ? undefined : nameHolder(holder)
  } finally {
    paths.close()
  }
}

function nameHolder(holder: string): string {
  return `another mx server${holder === '' ? '' : ` (process ${holder})`}`
}

function listLocks(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => LOCK.exec(name)?.[1] ?? [])
    .map(Number)
}

/** The holder of a lock, as its process has it; undefined: it is dead. */
async function findHolder(paths: Paths, numbers: readonly number[]): Promise<string | undefined> {
  for (const number of numbers) {
    const holder = await ask(paths.of(`lock.${number}`))
    if (holder !== undefined) return holder
  }
  return undefined
}

function listen(server: Server, path: string, folder: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new Error(`${folder} cannot be locked: ${cause.message}`, { cause })),
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

/** What the holder of a socket says: its process; empty when it is there and says nothing; undefined: nobody listens. */
function ask(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(path)
    socket.setEncoding('utf8').setTimeout(ANSWER_MS)
    socket.on('data', (text: string) => {
      said = (said + text).slice(0, 20)
    })
    socket.on('timeout', () => socket.destroy())
    socket.on('close', () => resolve(/^\d*$/.test(said) ? said : ''))
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(undefined)
    })
  })
}

/** Paths of sockets, which must be short: by way of the open folder where they are not. */
function createPaths(folder: string): Paths {
  const isLong = Buffer.byteLength(join(folder, `lock-${randomUUID()}`)) > PATH_MAX_BYTES
  if (!isLong) return { of: (name) => join(folder, name), close: () => {} }
  if (process.platform !== 'linux')
    throw new Error(`${folder} cannot be locked: the name of the folder is too long`)
  const descriptor = openSync(folder, 'r')
  return {
    of: (name) => `/proc/self/fd/${descriptor}/${name}`,
    close: () => closeSync(descriptor),
  }
}
