import { EventEmitter, once } from 'node:events'
import fs, {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { changeStateFile, readStateFile } from '../../../cli/state/state-file.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('a missing file is undefined, and is created with access for its owner only', async (t) => {
  const folder = join(makeTempFolder(t, 'state'), 'home')
  const file = join(folder, 'tokens')
  t.equal(readStateFile(file), undefined)
  await changeStateFile(file, (text) => `${text}\n`)
  t.equal(readStateFile(file), 'undefined\n')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(folder).mode & 0o777, 0o700)
})

t.test('concurrent changes are all stored, and no temporary files remain', async (t) => {
  const folder = makeTempFolder(t, 'state')
  const file = join(folder, 'tokens')
  const numbers = Array.from({ length: 20 }, (_, i) => i)
  await Promise.all(numbers.map((i) => changeStateFile(file, (text = '') => `${text}${i} `)))
  const result = readFileSync(file, 'utf8').trim().split(' ').map(Number)
  t.same(
    result.sort((a, b) => a - b),
    numbers,
  )
  t.same(readdirSync(folder), ['tokens'])
})

t.test('the stale lock of a killed process is ignored', async (t) => {
  const folder = makeTempFolder(t, 'state')
  const file = join(folder, 'tokens')
  // Even after the clock was set back.
  for (const [shift, text] of [
    [-60, 'x'],
    [3600, 'y'],
  ] as const) {
    const mtimeSeconds = Date.now() / 1000 + shift
    writeFileSync(`${file}.lock`, '')
    utimesSync(`${file}.lock`, mtimeSeconds, mtimeSeconds)
    await changeStateFile(file, () => text)
    t.equal(readStateFile(file), text)
    t.notOk(existsSync(`${file}.lock`))
  }
})

t.test('a lock that replaces a stale lock just before its removal is preserved', async (t) => {
  const file = join(makeTempFolder(t, 'state'), 'tokens')
  const lock = `${file}.lock`
  const mtimeSeconds = Date.now() / 1000 - 60
  writeFileSync(lock, 'stale')
  utimesSync(lock, mtimeSeconds, mtimeSeconds)
  const { statSync: original } = fs
  const setStat = (statSync: unknown): void => {
    Object.assign(fs, { statSync })
    syncBuiltinESMExports()
  }
  t.teardown(() => setStat(original))
  setStat((...args: Parameters<typeof original>) => {
    const stats = original(...args)
    if (args[0] === lock) {
      setStat(original)
      rmSync(lock)
      writeFileSync(lock, 'next')
    }
    return stats
  })
  const change = changeStateFile(file, () => 'x')
  t.equal(readStateFile(lock), 'next')
  rmSync(lock, { force: true })
  await change
  t.equal(readStateFile(file), 'x')
})

t.test('the age of a lock is measured by the clock of the file system', async (t) => {
  const file = join(makeTempFolder(t, 'state'), 'tokens')
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 7_200_000
  const gate = new EventEmitter()
  const started = once(gate, 'begun')
  const first = changeStateFile(file, async (text = '') => {
    const opened = once(gate, 'open')
    gate.emit('begun')
    await opened
    return `${text}1`
  })
  await started
  const second = changeStateFile(file, (text = '') => `${text}2`)
  t.ok(existsSync(`${file}.lock`), 'the lock is not considered stale')
  gate.emit('open')
  await Promise.all([first, second])
  t.equal(readStateFile(file), '12')
})

t.test(
  'a process that resumes after a stop preserves the lock and change of another process',
  async (t) => {
    const folder = makeTempFolder(t, 'state')
    const file = join(folder, 'tokens')
    const lock = `${file}.lock`
    const stopped = changeStateFile(file, async () => {
      const mtimeSeconds = Date.now() / 1000 - 60
      utimesSync(lock, mtimeSeconds, mtimeSeconds)
      await changeStateFile(file, () => 'later')
      writeFileSync(lock, '')
      return 'earlier'
    })
    await t.rejects(stopped, /tokens was changed by another program.*\. Run the command again/)
    t.equal(readStateFile(file), 'later')
    t.ok(existsSync(lock), 'the lock belongs to another process')
  },
)

t.test('an edit that throws changes nothing', async (t) => {
  const folder = makeTempFolder(t, 'state')
  const file = join(folder, 'tokens')
  await changeStateFile(file, () => 'x')
  const fail = (): string => {
    throw new Error('no')
  }
  await t.rejects(changeStateFile(file, fail), { message: 'no' })
  t.equal(readStateFile(file), 'x')
  t.same(readdirSync(folder), ['tokens'])
})

t.test('a read or write error is one line with the path', async (t) => {
  const folder = makeTempFolder(t, 'state')
  t.throws(() => readStateFile(folder), { message: /^\S+ cannot be read: EISDIR/ })
  await t.rejects(
    changeStateFile(join(folder, 'a\0b'), () => ''),
    /cannot be written: /,
  )
  // root may write everywhere.
  if (process.getuid?.() === 0) return
  chmodSync(folder, 0o500)
  await t.rejects(
    changeStateFile(join(folder, 'x'), () => ''),
    /cannot be written: EACCES/,
  )
})

t.test('a folder that cannot be created is an error with the path', async (t) => {
  for (const folder of ['/proc/.mx', '/proc/missing/.mx'])
    await t.rejects(
      changeStateFile(join(folder, 'tokens'), () => 'x'),
      { message: /^\/proc\/.*tokens cannot be written: ENOENT/ },
    )
})
