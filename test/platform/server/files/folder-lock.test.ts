import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { lockFolder } from '../../../../platform/server/files/folder-lock.ts'
import { toNodeArgs } from '../../../fixtures/programs.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const LOCK_PROGRAM = new URL('../../../fixtures/lock-folder.ts', import.meta.url)
const ROUNDS = 3
const STARTERS = 4

/** A process that is ready to acquire a lock. */
interface Starter {
  readonly child: ChildProcess
  /** Starts the attempt and returns its result. */
  readonly begin: () => Promise<string>
  readonly kill: () => Promise<void>
}

async function prepare(t: Test, folder: string): Promise<Starter> {
  const child = spawn(process.execPath, toNodeArgs(LOCK_PROGRAM, folder), {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await closed
  }
  t.teardown(kill)
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  return {
    child,
    async begin() {
      child.stdin.write('begin\n')
      return (await lines.next()).value
    },
    kill,
  }
}

t.test('locks a folder exclusively until the release', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  const lock = await lockFolder(folder)
  const message = `${folder} is in use by another mx server (process ${process.pid}): stop it, or set another folder with --data_dir or MX_DATA_DIR`
  await t.rejects(lockFolder(folder), { message })
  await lock.release()
  t.same(readdirSync(folder), [], 'no files remain')
  await (await lockFolder(folder)).release()
})

t.test('locks a folder whose path is too long for a socket', async (t) => {
  const folder = join(makeTempFolder(t, 'lock'), 'a'.repeat(150))
  mkdirSync(folder)
  const lock = await lockFolder(folder)
  await t.rejects(lockFolder(folder), /is in use by another mx server/)
  await lock.release()
  t.same(readdirSync(folder), [])
})

t.test('leaves other files in the folder unchanged', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  const names = ['lock', 'lock.x', 'lock.txt', 'store']
  for (const name of names) writeFileSync(join(folder, name), '')
  const lock = await lockFolder(folder)
  t.same(readdirSync(folder).sort(), [...names, 'lock.1'].sort())
  await lock.release()
})

t.test('exactly one of many concurrent attempts in a process succeeds', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  const all = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)))
  const locks = all.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  t.equal(locks.length, 1)
  await locks[0]?.release()
  t.same(readdirSync(folder), [])
})

t.test('the lock is free immediately after kill -9 of its owner', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  const lockOwner = await prepare(t, folder)
  t.equal(await lockOwner.begin(), 'locked')
  await t.rejects(lockFolder(folder), new RegExp(`\\(process ${lockOwner.child.pid}\\)`))
  await lockOwner.kill()
  t.same(readdirSync(folder), ['lock.1'], 'a killed process cannot delete its file')
  const lock = await lockFolder(folder)
  t.same(readdirSync(folder), ['lock.2'])
  await lock.release()
})

t.test('a stopped (SIGSTOP) owner retains the lock', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  const lockOwner = await prepare(t, folder)
  t.equal(await lockOwner.begin(), 'locked')
  lockOwner.child.kill('SIGSTOP')
  const message = `${folder} is in use by another mx server: stop it, or set another folder with --data_dir or MX_DATA_DIR`
  await t.rejects(lockFolder(folder), { message })
})

t.test('exactly one of several processes takes over the lock of a dead process', async (t) => {
  const folder = makeTempFolder(t, 'lock')
  for (let round = 0; round < ROUNDS; round++) {
    const starters = await Promise.all(Array.from({ length: STARTERS }, () => prepare(t, folder)))
    const results = await Promise.all(starters.map(({ begin }) => begin()))
    t.equal(results.filter((line) => line === 'locked').length, 1, `round ${round}`)
    t.equal(results.filter((line) => /is in use by/.test(line)).length, STARTERS - 1)
    await Promise.all(starters.map(({ kill }) => kill()))
  }
})
