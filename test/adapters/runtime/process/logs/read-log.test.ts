import { appendFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  type LogFiles,
  openLogFiles,
} from '../../../../../adapters/runtime/process/logs/log-files.ts'
import { readLog } from '../../../../../adapters/runtime/process/logs/read-log.ts'
import type { LogQuery } from '../../../../../core/contracts/runtime.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

const FROM = { instance: 'a', stream: 'stdout' } as const
const FILE_LIMITS = { fileBytes: 1000, files: 3 }

function openLog(
  t: Test,
  folder = makeTempFolder(t, 'log'),
  limits = FILE_LIMITS,
): LogFiles & { folder: string } {
  const log = openLogFiles(folder, limits, (error) => t.fail(error.message))
  t.teardown(() => log.close())
  return { ...log, folder }
}

/** Adds lines `from`, `from + 1`, ... one by one, so that files are rotated in between. */
async function append(log: LogFiles, from: number, count: number): Promise<void> {
  for (let number = from; number < from + count; number++) {
    log.append(FROM, [String(number)])
    await log.written()
  }
}

async function read(log: LogFiles, query: Partial<LogQuery> = {}): Promise<readonly number[]> {
  const numbers: number[] = []
  const { signal } = new AbortController()
  for await (const { text } of readLog(log, { follow: false, signal, ...query }))
    numbers.push(Number(text))
  return numbers
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

t.test('reads the last lines across files', async (t) => {
  const log = openLog(t)
  await append(log, 0, 100)
  t.equal(log.list().length, 3)
  const all = await read(log)
  t.strictSame(all, range(all[0]!, 100))
  for (let lines = 0; lines <= all.length; lines++)
    t.strictSame(await read(log, { lines }), range(100 - lines, 100), `${lines} lines`)
  t.strictSame(await read(log, { lines: 1000 }), all)
})

t.test('limits the number and size of files', async (t) => {
  const log = openLog(t)
  await append(log, 0, 500)
  const files = readdirSync(log.folder)
  t.equal(files.length, 3)
  for (const file of files) t.ok(statSync(join(log.folder, file)).size < 1100)
})

t.test('appends to an existing log after a partial line', async (t) => {
  const log = openLog(t)
  await append(log, 0, 30)
  await log.close()
  appendFileSync(log.toPath(log.list().at(-1)!), '17000')
  const reopened = openLog(t, log.folder)
  t.strictSame(await read(reopened, { lines: 31 }), range(0, 30))
  await append(reopened, 30, 2)
  t.strictSame(await read(reopened, { lines: 3 }), range(29, 32), 'the partial line is skipped')
})

t.test('follows every line in order across rotations', async (t) => {
  const log = openLog(t, undefined, { fileBytes: 1000, files: 100 })
  await append(log, 0, 10)
  const stop = new AbortController()
  const readers = [{ lines: 0 }, { lines: 5 }, {}].map((query) =>
    read(log, { ...query, follow: true, signal: stop.signal }),
  )
  // Their start position is fixed once they have waited for pending writes.
  await log.written()
  await new Promise((resolve) => setImmediate(resolve))
  for (let i = 10; i < 2000; i += 10) {
    log.append(FROM, range(i, i + 10).map(String))
    if (i % 50 === 0) await log.written()
  }
  await log.close()
  const [none, five, all] = await Promise.all(readers)
  t.strictSame(all, range(0, 2000))
  t.strictSame(five, range(5, 2000))
  t.ok(none!.length > 0 && none!.at(-1) === 1999)
})

t.test('ends a follower on abort', async (t) => {
  const log = openLog(t)
  const stop = new AbortController()
  const reading = read(log, { follow: true, signal: stop.signal })
  stop.abort()
  t.strictSame(await reading, [])
  t.strictSame(await read(log, { follow: true, signal: stop.signal }), [], 'already aborted')
})

t.test('reads lines since a time', async (t) => {
  const log = openLog(t)
  await append(log, 0, 3)
  const { signal } = new AbortController()
  const times: number[] = []
  for await (const line of readLog(log, { follow: false, signal })) times.push(line.timestampMs)
  t.strictSame(await read(log, { sinceMs: times[0]! }), [0, 1, 2])
  t.strictSame(await read(log, { sinceMs: times[2]! + 1 }), [])
})
