// docs/store.md, `sync`: with `always` an acknowledged write has reached the disk. Verified by tracing system calls.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { LOADER, toModule } from '../fixtures/programs.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const TRACER = join(ROOT, 'test/fixtures/trace_syncs.py')
const ACKS = 3

/** Returns the system calls on `data.mdb` before each acknowledgement, or undefined if tracing is unavailable. */
function trace(t: Test, program: string): string[][] | undefined {
  const args = [...LOADER, '--input-type=module', '-e', program]
  const { status, stdout, error } = spawnSync(
    'python3',
    [TRACER, '/data.mdb', process.execPath, ...args],
    { encoding: 'utf8', timeout: 100_000, killSignal: 'SIGKILL' },
  )
  if (error !== undefined || status === 77) {
    t.pass('requires python3 with ptrace', { skip: error?.message ?? 'ptrace is denied' })
    return undefined
  }
  t.equal(status, 0)
  const acks = stdout.split('ack').map((part) => part.split(/\s+/).filter(Boolean))
  return acks.slice(0, -1)
}

/** Whether all writes are on the disk. */
function isFlushed(calls: readonly string[]): boolean {
  return calls.lastIndexOf('write') < calls.lastIndexOf('sync')
}

t.test('a write that is acknowledged before its flush is visible', async (t) => {
  const file = `${makeTempFolder(t, 'flush')}/data.mdb`
  const acks = trace(
    t,
    `import { fdatasyncSync, openSync, writeSync } from 'node:fs'
    const file = openSync(${JSON.stringify(file)}, 'w')
    writeSync(file, 'a', 0)
    writeSync(1, ' ')
    writeSync(file, 'b', 1)
    fdatasyncSync(file)
    writeSync(1, ' ')`,
  )
  if (acks === undefined) return
  t.strictSame(acks, [['write'], ['write', 'sync']])
  t.strictSame(acks.map(isFlushed), [false, true])
})

t.test('always: waits for the disk before acknowledging a write', async (t) => {
  const folder = makeTempFolder(t, 'flush')
  const toUrl = (path: string) =>
    JSON.stringify(toModule(new URL(`../../${path}`, import.meta.url)))
  const acks = trace(
    t,
    `import { writeSync } from 'node:fs'
    import { createLmdbStore } from ${toUrl('adapters/store/lmdb.ts')}
    import { createStore } from ${toUrl('domain/store/store.ts')}
    const store = createStore(createLmdbStore({ folder: ${JSON.stringify(folder)}, sync: 'always' }))
    for (let i = 0; i < ${ACKS}; i++) {
      const table = { database: 'mx', table: 'a' }
      await store.commit([{ table, key: String(i), value: Buffer.alloc(5000) }])
      writeSync(1, ' ')
    }
    await store.close()`,
  )
  if (acks === undefined) return
  t.equal(acks.length, ACKS)
  for (const calls of acks) {
    t.ok(calls.includes('write'), calls.join(' '))
    t.ok(isFlushed(calls))
    t.equal(calls.at(-1), 'write+sync', 'the meta page is written after the new pages')
  }
})
