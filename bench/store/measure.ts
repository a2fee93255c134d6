import type { Contestant } from './contestant.ts'

/** Who wait for their answers at a time. */
export const CALLERS = 1000

/** What is asked of a store. */
export interface Load {
  readonly records: number
  /** Of each figure. */
  readonly seconds: number
}

/** Part of the time that goes before: a process that did nothing has given its memory back. */
const WARM_UP = 0.5
const VALUE = 'v'.repeat(128)

const toKey = (i: number): string => `user/${String(i).padStart(7, '0')}`

/** Calls a second, of many callers who each wait for their answer, once they have been at it for a while. */
async function measureRate(
  { records, seconds }: Load,
  call: (i: number) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now() + seconds * 1000 * WARM_UP
  const endMs = startMs + seconds * 1000
  let count = 0
  const caller = async (n: number): Promise<void> => {
    for (let i = n, nowMs = 0; nowMs < endMs; i = (i + 7919) % records) {
      await call(i)
      nowMs = performance.now()
      if (nowMs >= startMs) count++
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)))
  return Math.round((count / (performance.now() - startMs)) * 1000)
}

/** Milliseconds a page of 1000 takes: median and 99th percentile. */
async function measurePages(
  { records, seconds }: Load,
  readPrefix: Contestant['readPrefix'],
): Promise<[number, number]> {
  const times: number[] = []
  const endMs = performance.now() + seconds * 1000
  for (let i = 0; performance.now() < endMs; i = (i + 7919) % records) {
    const startMs = performance.now()
    const values = await readPrefix(toKey(i).slice(0, -3))
    times.push(performance.now() - startMs)
    if (values.length !== Math.min(1000, records)) throw new Error(`${values.length} values`)
  }
  times.sort((a, b) => a - b)
  const at = (part: number) => Number(times[Math.floor(times.length * part)]!.toFixed(2))
  return [at(0.5), at(0.99)]
}

/** Writes all records. @throws {Error} when they are not there then. */
export async function fill({ write, read }: Contestant, { records }: Load): Promise<void> {
  for (let i = 0; i < records; i += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, (_, n) => write(toKey(i + n), VALUE)))
  if ((await read(toKey(1))) !== VALUE) throw new Error('the store does not keep what is written')
}

/** Writes, reads, a page and a slow page. */
export async function measure(
  { write, read, readPrefix }: Contestant,
  load: Load,
): Promise<number[]> {
  const writes = await measureRate(load, (i) => write(toKey(i), VALUE))
  const reads = await measureRate(load, (i) => read(toKey(i)))
  return [writes, reads, ...(await measurePages(load, readPrefix))]
}
