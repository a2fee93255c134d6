import type { Contestant } from './contestant.ts'

/** Number of concurrent callers. */
export const CALLERS = 1000

/** Load on a store. */
export interface Load {
  readonly records: number
  /** Duration per figure in seconds. */
  readonly seconds: number
}

/** Warm-up as a fraction of the duration, because an idle process has returned memory to the system. */
const WARM_UP_SHARE = 0.5
const VALUE = 'v'.repeat(128)

const toKey = (i: number): string => `user/${String(i).padStart(7, '0')}`

/** Measures calls per second in a closed loop, after a warm-up. */
async function measureRate(
  { records, seconds }: Load,
  call: (i: number) => Promise<unknown>,
): Promise<number> {
  const startMs = performance.now() + seconds * 1000 * WARM_UP_SHARE
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

/** Measures reading a page of 1000 records. Returns median and 99th percentile in milliseconds. */
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

/** Writes all records. @throws {Error} if they cannot be read back. */
export async function fill({ write, read }: Contestant, { records }: Load): Promise<void> {
  for (let i = 0; i < records; i += CALLERS)
    await Promise.all(Array.from({ length: CALLERS }, (_, n) => write(toKey(i + n), VALUE)))
  if ((await read(toKey(1))) !== VALUE) throw new Error('the store lost a record')
}

/** Measures writes per second, reads per second, and the median and 99th percentile of page reads. */
export async function measure(
  { write, read, readPrefix }: Contestant,
  load: Load,
): Promise<number[]> {
  const writes = await measureRate(load, (i) => write(toKey(i), VALUE))
  const reads = await measureRate(load, (i) => read(toKey(i)))
  return [writes, reads, ...(await measurePages(load, readPrefix))]
}
